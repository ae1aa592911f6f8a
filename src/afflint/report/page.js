  const all = (what, root = document) => [...root.querySelectorAll(what)];
  const by = (id) => document.getElementById(id);
  const low = (text) => text.toLowerCase();

  const open = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };

  // Opens what the address names and brings it into view, if it names anything.
  const arrive = () => {
    const target = /^#[a-z0-9]+$/.test(location.hash) && by(location.hash.slice(1));
    if (!target) return false;
    open(target);
    target.scrollIntoView();
    return true;
  };

  // Brings the bar of filters to light. The address keeps what its fields ask for, #severity=error&find=cart, and `fit` shows only that.
  const search = (fields, fit) => {
    const bar = by("find"), used = Object.entries(fields).filter(([, field]) => field);
    if (!bar) return;
    const tell = () => {
      const parts = used.filter(([, field]) => field.value).map(([key, field]) => key + "=" + encodeURIComponent(field.value));
      history.replaceState(null, "", parts.length ? "#" + parts.join("&") : location.pathname + location.search);
    };
    const obey = () => {
      if (arrive()) return;
      const asked = new URLSearchParams(location.hash.slice(1));
      for (const [key, field] of used) if (asked.has(key)) field.value = asked.get(key);
      fit();
    };
    bar.hidden = false;
    bar.addEventListener("input", () => {
      fit();
      tell();
    });
    addEventListener("hashchange", obey);
    obey();
  };

