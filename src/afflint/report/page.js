  const all = (what, root = document) => [...root.querySelectorAll(what)];
  const by = (id) => document.getElementById(id);
  const low = (text) => text.toLowerCase();

  const open = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };

  // Open the element that the address names and scroll to it, if there is one.
  const arrive = () => {
    const target = /^#[a-z0-9]+$/.test(location.hash) && by(location.hash.slice(1));
    if (!target) return false;
    open(target);
    target.scrollIntoView();
    return true;
  };

  // Show the filters. The address keeps the values of the fields, #severity=error&find=cart, and `fit` applies them.
  const search = (fields, fit) => {
    const bar = by("find"), used = Object.entries(fields).filter(([, field]) => field);
    if (!bar) return;
    const writeAddress = () => {
      const parts = used.filter(([, field]) => field.value).map(([key, field]) => key + "=" + encodeURIComponent(field.value));
      history.replaceState(null, "", parts.length ? "#" + parts.join("&") : location.pathname + location.search);
    };
    const readAddress = () => {
      if (arrive()) return;
      const asked = new URLSearchParams(location.hash.slice(1));
      for (const [key, field] of used) if (asked.has(key)) field.value = asked.get(key);
      fit();
    };
    bar.hidden = false;
    bar.addEventListener("input", () => {
      fit();
      writeAddress();
    });
    addEventListener("hashchange", readAddress);
    readAddress();
  };

