// The list of findings.

import { button, element, prose } from "./elements.js";

/** Return the element of a finding. `go`, `select`, `explain` and `fix` are called when the user asks for it. */
export function item(finding, { go, select, explain, fix }) {
  const { severity, rule, number } = finding;
  const parts = [
    element(
      "div",
      { class: "head" },
      element("span", { class: "what" }, severity),
      place(finding, () => go(number)),
      finding.hasPage ? explain(rule) : element("span", {}, rule),
      element("span", { class: "soft" }, finding.object),
    ),
    element("p", { class: "message" }, ...prose(finding.message)),
    element("p", { class: "help" }, ...prose(finding.help)),
    ...finding.related.map((each) => element("p", { class: "related" }, place(each, () => select(each)), ": ", ...prose(each.message))),
  ];
  if (finding.fix) {
    const unsafe = element("span", { class: "soft" }, "It may change the meaning of the manifest.");
    const apply = button("Fix", () => fix(number), { "aria-label": `Fix ${rule} in line ${finding.line} of ${finding.file}` });
    parts.push(element("div", { class: "do" }, apply, ...(finding.fix === "unsafe" ? [unsafe] : [])));
  }
  return element("li", { class: severity, "data-number": number, "data-rule": rule }, ...parts);
}

const place = ({ file, line, column }, onclick) => button(`${file}:${line}:${column}`, onclick, { class: "plainly" });
