  const all = (what, root = document) => [...root.querySelectorAll(what)];
  const by = (id) => document.getElementById(id);
  const low = (text) => text.toLowerCase();

  const open = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };

