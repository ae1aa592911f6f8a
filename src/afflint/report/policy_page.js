  // The page is complete without this script. It adds a search and filters, and keeps them in the address.
  const policies = all(".policy"), fields = { find: by("words"), namespace: by("namespace"), owner: by("owner") };
  const fit = () => {
    const words = low(fields.find.value).split(/\s+/).filter(Boolean), asked = words.length || fields.namespace.value || (fields.owner && fields.owner.value);
    let found = 0, total = 0;
    for (const policy of policies) {
      let inside = 0;
      for (const row of all("tr[data-namespace]", policy)) {
        const same = (key) => !fields[key] || !fields[key].value || row.dataset[key] === fields[key].value.slice(1);
        const hit = same("namespace") && same("owner") && words.every((word) => low(policy.dataset.name + " " + row.textContent).includes(word));
        row.hidden = !hit;
        total += 1;
        inside += hit;
      }
      found += inside;
      policy.hidden = Boolean(asked) && !inside;
    }
    by("found").textContent = asked ? `${found} of ${total}` : "";
  };

  // #namespace==shop&find=zone: selected values begin with "=", so that "none" differs from "all".
  search(fields, fit);
