  // The page is complete without this script.
  arrive();
