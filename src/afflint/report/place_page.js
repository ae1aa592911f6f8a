  // The page is complete without this script. It adds a search and filters, keeps the selected disruption and workload in the address, and
  // highlights the workload of a clicked replica.
  // #after=zone=a&workload=shop/web, with do=drain for a drain.
  const chosen = (name) => document.querySelector(`input[name=${name}]:checked`);
  const pick = (name, fits) => {
    const button = all(`input[name=${name}]`).find(fits);
    if (!button) return;
    button.checked = true;
    if (name === "loss" && button.value) {
      open(button);
      by("after").scrollIntoView();
    }
  };
  const writeAddress = () => {
    const loss = chosen("loss"), one = chosen("one"), parts = [];
    const add = (key, value) => parts.push(key + "=" + encodeURIComponent(value).replace(/%(3D|2F)/g, decodeURIComponent));
    if (loss && loss.value) {
      if (loss.dataset.action !== "lose") add("do", loss.dataset.action);
      add("after", loss.value);
    }
    if (one && one.value) add("workload", one.value);
    history.replaceState(null, "", "#" + parts.join("&"));
  };
  const readAddress = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    const after = asked.get("after"), one = asked.get("workload"), action = asked.get("do") || "lose";
    if (after !== null) pick("loss", (button) => button.value === after && button.dataset.action === action);
    if (one !== null) pick("one", (button) => button.value === one);
    arrive();
  };
  document.addEventListener("change", (event) => {
    if (event.target.type === "radio") writeAddress();
  });
  addEventListener("hashchange", readAddress);
  readAddress();

  // A cell of the first table chooses its disruption and shows what it does.
  document.addEventListener("click", (event) => {
    const cell = event.target.closest(".matrix a");
    const button = cell && by("f" + cell.dataset.loss);
    if (!button) return;
    event.preventDefault();
    button.checked = true;
    open(button);
    writeAddress();
    by("after").focus({ preventScroll: true });
    by("after").scrollIntoView();
  });

  document.addEventListener("click", (event) => {
    const chip = event.target.closest(".racks a.chip");
    const button = chip && by("s" + chip.getAttribute("href").slice(2));
    if (!button) return;
    event.preventDefault();
    (button.checked ? by("s0") : button).checked = true;
    writeAddress();
  });

  const bar = by("find");
  if (!bar) return;
  bar.hidden = false;
  let index;
  const read = () => ({
    // A disruption is found by the workloads that it harms, too.
    failures: all(".losses label").slice(1).map((each) => {
      const hit = (each.dataset.hits || "").split(" ").filter(Boolean).map((number) => by("w" + number).closest(".workload").querySelector("h3").textContent);
      return { each, text: low([each.textContent, each.firstElementChild.value, ...hit].join(" ")) };
    }),
    rows: all(".matrix tbody tr").map((each) => ({ each, text: low(each.firstElementChild.textContent) })),
    nodes: all(".racks .node").map((each) => {
      const many = each.classList.contains("many") && low(each.querySelector("details").lastChild.data).split(", ");
      const name = each.querySelector(".name");
      return { each, many, text: low([name.title || name.textContent, ...all(".pods .chip", each).map((chip) => chip.title || chip.textContent)].join(" ")) };
    }),
    workloads: all(".workload").map((each) => ({ each, text: low(each.firstElementChild.textContent) })),
    ones: all(".ones label").slice(1).map((each) => ({ each, text: low(each.textContent) })),
  });
  const fit = () => {
    index = index || read();
    const words = low(by("words").value).split(/\s+/).filter(Boolean), space = by("space").value, state = by("state").value;
    const has = (text) => words.every((word) => text.includes(word));
    const short = by("state").selectedIndex === 1;
    const counts = [];
    const show = (what, fits, many) => {
      let found = 0, total = 0;
      for (const entry of index[what]) {
        const hit = fits(entry);
        const size = entry.many ? entry.many.length : 1;
        entry.each.hidden = !hit;
        total += size;
        if (hit) found += entry.many ? entry.many.filter(has).length : 1;
        if (hit && (words.length || space || state)) open(entry.each.parentElement);
      }
      if (many && total) counts.push(`${found} of ${total} ${many}`);
    };
    show("failures", ({ each, text }) => has(text) && (!state || short || each.querySelector(".state." + state)), "disruptions");
    show("nodes", ({ text, many }) => (many ? many.some(has) : has(text)), "nodes");
    show("workloads", ({ each, text }) => has(text) && (!space || each.dataset.space === space)
      && (!state || each.querySelector(short ? "summary .short" : "summary .state." + state)), "workloads");
    show("rows", ({ text }) => has(text));
    show("ones", ({ text }) => has(text));
    for (const fold of all("details.fold, .losses details")) {
      const inside = all(".workload, label", fold);
      fold.hidden = inside.length > 0 && inside.every((each) => each.hidden);
    }
    for (const rack of all(".rack")) rack.hidden = all(".node", rack).every((each) => each.hidden);
    by("found").textContent = words.length || space || state ? counts.join(", ") : "";
  };
  bar.addEventListener("input", fit);
