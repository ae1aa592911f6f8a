  // The page is complete without this script. It adds a search and filters, and keeps them in the address.
  const findings = all(".finding"), rules = all(".rule"), fields = { find: by("words"), severity: by("severity"), rule: by("rule") };
  let texts;
  const text = (each, number) => {
    texts = texts || [];
    if (texts[number] === undefined) {
      const file = each.parentElement, folder = file.parentElement;
      texts[number] = low([folder.firstElementChild, file.firstElementChild, each].map((part) => part.textContent).join(" ") + " " + each.dataset.rule);
    }
    return texts[number];
  };
  const fit = () => {
    const words = low(fields.find.value).split(/\s+/).filter(Boolean), severity = fields.severity.value, rule = fields.rule.value, fixable = by("fixable").checked;
    const fits = (each) => (!severity || each.dataset.severity === severity) && (!rule || each.dataset.rule === rule);
    const counts = {};
    let found = 0;
    findings.forEach((each, number) => {
      const hit = fits(each) && (!fixable || each.dataset.fix) && words.every((word) => text(each, number).includes(word));
      each.hidden = !hit;
      if (!hit) return;
      found += 1;
      const key = each.dataset.severity + " " + each.dataset.rule;
      counts[key] = (counts[key] || 0) + 1;
    });
    for (const each of rules) {
      const count = counts[each.dataset.severity + " " + each.dataset.rule] || 0;
      each.hidden = !count;
      each.querySelector(".number").textContent = count;
      for (const link of all("li", each)) link.hidden = by(link.firstElementChild.hash.slice(1)).hidden;
    }
    for (const outer of [...all(".file"), ...all(".folder")]) outer.hidden = all(".finding", outer).every((each) => each.hidden);
    for (const link of all(".counts th a[href]")) link.closest("tr").hidden = by(link.hash.slice(1)).hidden;
    const asked = words.length || severity || rule || fixable;
    by("found").textContent = asked ? `${found} of ${findings.length} findings` : "";
  };

  search(fields, fit);
