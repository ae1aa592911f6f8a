// The editor: a text area with line numbers, and the findings marked at their lines and columns.

import { byId, element } from "./elements.js";

const SEVERITIES = ["info", "warning", "error"];
const [text, gutter, marks] = ["text", "gutter", "marks"].map(byId);

/** Show a text under a name. */
export function show(name, written) {
  text.setAttribute("aria-label", name);
  text.value = written;
}

/** Show line numbers, and mark the lines and spans of the findings of the shown text. */
export function draw(findings) {
  const lines = text.value.split("\n");
  const worst = new Map();
  for (const each of findings) {
    if (SEVERITIES.indexOf(each.severity) > SEVERITIES.indexOf(worst.get(each.line))) worst.set(each.line, each.severity);
  }
  const numbers = document.createDocumentFragment();
  const papers = document.createDocumentFragment();
  lines.forEach((line, index) => {
    const severity = worst.get(index + 1);
    numbers.append(severity ? element("span", { class: severity }, `${index + 1}`) : `${index + 1}`, "\n");
    const mark = element("div", severity ? { class: severity } : {});
    const first = findings.find((each) => each.line === index + 1 && each.severity === severity);
    if (first) {
      const points = [...line]; // Columns count code points, not UTF-16 units.
      const end = Math.max(first.endLine === first.line ? first.endColumn - 1 : points.length, first.column);
      mark.append(points.slice(0, first.column - 1).join(""), element("u", {}, points.slice(first.column - 1, end).join("") || " "));
      mark.append(points.slice(end).join(""));
    }
    papers.append(mark);
  });
  gutter.replaceChildren(numbers);
  marks.replaceChildren(papers);
  follow();
}

function follow() {
  gutter.scrollTop = marks.scrollTop = text.scrollTop;
  marks.scrollLeft = text.scrollLeft;
}

/** Replace the shown text so that it can be undone: only the difference is typed. */
export function type(wanted) {
  const before = text.value;
  if (before === wanted) return;
  let start = 0;
  while (start < before.length && before[start] === wanted[start]) start++;
  let end = 0;
  while (end < before.length - start && end < wanted.length - start && before.at(-1 - end) === wanted.at(-1 - end)) end++;
  text.focus({ preventScroll: true });
  text.setSelectionRange(start, before.length - end);
  const inserted = wanted.slice(start, wanted.length - end);
  const typed = inserted ? document.execCommand("insertText", false, inserted) : document.execCommand("delete");
  if (!typed) {
    text.value = wanted;
    text.dispatchEvent(new Event("input"));
  }
  if (matchMedia("(hover: none)").matches) text.blur(); // Without it, the keyboard of a phone covers the result.
}

/** Return the index of a line and column in the shown text; a code point may be two UTF-16 units. */
function offset(line, column) {
  const lines = text.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
}

/** Select a span, and scroll to it. */
export function select(line, column, endLine = line, endColumn = column) {
  const start = offset(line, column);
  const end = Math.max(start, endLine === line ? offset(endLine, endColumn) : offset(line, Infinity));
  const height = parseFloat(getComputedStyle(text).lineHeight);
  text.scrollTop = Math.max(0, (line - 1) * height - text.clientHeight / 3);
  text.focus({ preventScroll: false });
  text.setSelectionRange(start, end);
  follow();
}

/** Return findings at their positions during typing: those below a change move; the changed lines are checked again soon. */
export function moved(findings, before, after) {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same++;
  const down = after.length - before.length;
  const last = before.length - 1;
  let below = 0;
  while (below < last - same && before[last - below] === after[last + down - below]) below++;
  const kept = findings.filter(({ line }) => line <= same || line > before.length - below);
  return kept.map((each) => (each.line > same ? { ...each, line: each.line + down, endLine: each.endLine + down } : each));
}

/** Call a function with the shown text after each change by the user. */
export function onInput(changed) {
  text.addEventListener("input", () => changed(text.value));
}

text.addEventListener("scroll", follow);
new ResizeObserver(follow).observe(text);

let leaving = false; // Whether Escape was pressed: Tab then moves the focus.
text.addEventListener("keydown", (event) => {
  const leaves = leaving;
  leaving = event.key === "Escape";
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Tab" && !leaves && !event.shiftKey) {
    event.preventDefault();
    document.execCommand("insertText", false, "  ");
  } else if (event.key === "Enter" && !event.shiftKey) {
    const line = text.value.slice(text.value.lastIndexOf("\n", text.selectionStart - 1) + 1, text.selectionStart);
    event.preventDefault();
    document.execCommand("insertText", false, `\n${line.match(/^ */)[0]}`);
  }
});
