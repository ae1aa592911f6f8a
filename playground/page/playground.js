// The page: an editor for two texts, the findings in them, and a simulation of the placement.

const BASE = new URL("./", import.meta.url).href;
const LARGEST_LINK = 1_000_000; // Characters of an unpacked link, which anyone may have written.
const SEVERITIES = ["info", "warning", "error"];
const byId = (id) => document.getElementById(id);
const [text, gutter, marks, list, status] = ["text", "gutter", "marks", "list", "status"].map(byId);

const texts = ["", ""];
const scrolled = [0, 0];
let open = 0; // The current tab of the editor.
let findings = [];
let checked = []; // The texts that the findings belong to.
let current = -1; // The index of the last visited finding.

// Elements. Text of a manifest is never parsed as HTML.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Return text with the parts in backticks as code. */
function prose(written) {
  return written.split(/(`[^`]+`)/).filter(Boolean).map((part) => (/^`.+`$/.test(part) ? element("code", {}, part.slice(1, -1)) : part));
}

// afflint, in a worker.

const asked = new Map();
let worker;
let number = 0;

function startWorker() {
  const source = `import { serve } from ${JSON.stringify(`${BASE}worker.js`)}; serve(${JSON.stringify(BASE)});`;
  worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })), { type: "module" });
  worker.onmessage = ({ data }) => {
    if ("ready" in data) return ready(data.ready);
    if ("failed" in data) return failed(data.failed);
    const { resolve, reject } = asked.get(data.id);
    asked.delete(data.id);
    return "error" in data ? reject(new Error(data.error)) : resolve(data.answer);
  };
  worker.onerror = (event) => failed(event.message || "the worker could not be started");
}

function ask(...question) {
  return new Promise((resolve, reject) => {
    asked.set(++number, { resolve, reject });
    worker.postMessage({ id: number, question });
  });
}

let version = "";

function ready(afflint) {
  version = afflint;
  byId("loading").hidden = true;
  check();
  if (selected("views") === 1) place();
  keepOffline();
}

function failed(reason) {
  byId("loading").hidden = true;
  status.textContent = `afflint could not be started: ${reason}`;
}

async function keepOffline() {
  try {
    await navigator.serviceWorker.register(`${BASE}service-worker.js`);
    await navigator.serviceWorker.ready;
    byId("offline").textContent = "Works offline from now on.";
  } catch {
    // Opened from a disk, or in a private window: the page still works online.
  }
}

// Checks: after a pause in typing, and never two at a time.

let timer = 0;
let busy = false;
let again = false;

function changed(before) {
  clearTimeout(timer);
  timer = setTimeout(check, 200);
  draw(moved(before.split("\n"), texts[open].split("\n")));
}

/** Return the findings at their positions during typing: findings below a change move; the changed text is checked again soon. */
function moved(before, after) {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same++;
  const down = after.length - before.length;
  const last = before.length - 1;
  let below = 0;
  while (below < last - same && before[last - below] === after[last + down - below]) below++;
  const kept = findings.filter(({ tab, line }) => tab !== open || line <= same || line > before.length - below);
  return kept.map((each) => (each.tab === open && each.line > same ? { ...each, line: each.line + down, endLine: each.endLine + down } : each));
}

async function check() {
  if (!version) return;
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  do {
    again = false;
    const given = [...texts];
    try {
      const answer = await ask("check", ...given);
      if (isCurrent(given)) show(answer, given);
    } catch (error) {
      status.textContent = lastLine(error);
    }
  } while (again);
  busy = false;
  if (selected("views") === 1) place();
}

const isCurrent = (given) => given.length === 2 && given.every((each, tab) => each === texts[tab]);
const lastLine = (error) => `Internal error of afflint: ${error.message.trim().split("\n").at(-1)}`;

function show({ findings: found, safe, documents, suppressed }, given) {
  findings = found;
  checked = given;
  current = -1;
  const counts = SEVERITIES.toReversed().map((severity) => {
    const many = found.filter((each) => each.severity === severity).length;
    return many ? `${many} ${severity}${many > 1 && severity !== "info" ? "s" : ""}` : "";
  });
  const summary = counts.filter(Boolean).join(", ") || (documents ? "No findings" : "No manifest yet: type one, or choose an example");
  const read = documents ? ` in ${documents} document${documents > 1 ? "s" : ""}` : "";
  status.textContent = `${summary}${read}.${suppressed ? ` ${suppressed} suppressed by comments.` : ""}`;
  status.dataset.version = version;
  const all = byId("fix-all");
  all.hidden = !safe;
  all.textContent = safe > 1 ? `Apply all ${safe} safe fixes` : "Fix what is safe";
  list.replaceChildren(...found.map(item));
  for (const tab of [0, 1]) byId(`count-${tab}`).textContent = found.filter((each) => each.tab === tab).length || "";
  draw(found);
}

function item(finding) {
  const { severity, rule, line, column, tab } = finding;
  const place = `${tab ? "nodes, line" : "line"} ${line}`;
  const go = () => goTo(finding.number);
  const parts = [
    element(
      "div",
      { class: "head" },
      element("span", { class: "what" }, severity),
      element("button", { class: "plainly", type: "button", onclick: go, title: `column ${column}` }, place),
      finding.hasPage
        ? element("button", { class: "plainly", type: "button", onclick: () => showRule(rule), title: "The rule's page" }, rule)
        : element("span", {}, rule),
      element("span", { class: "soft" }, finding.object),
    ),
    element("p", { class: "message" }, ...prose(finding.message)),
    element("p", { class: "help" }, ...prose(finding.help)),
  ];
  for (const each of finding.related) {
    const where = element("button", { class: "plainly", type: "button", onclick: () => select(each.tab, each.line, each.column) }, `${each.tab ? "nodes, line" : "line"} ${each.line}`);
    parts.push(element("p", { class: "related" }, where, ": ", ...prose(each.message)));
  }
  if (finding.fix) {
    const fix = element("button", { type: "button", onclick: () => fixOne(finding.number) }, "Fix");
    const unsafe = element("span", { class: "soft" }, "It may change the meaning of the manifest.");
    parts.push(element("div", { class: "do" }, fix, ...(finding.fix === "unsafe" ? [unsafe] : [])));
  }
  return element("li", { class: severity, "data-number": finding.number, "data-rule": rule }, ...parts);
}

// The editor.

/** Show line numbers, and mark the lines and spans of the findings. */
function draw(found) {
  const lines = texts[open].split("\n");
  const here = found.filter((each) => each.tab === open);
  const worst = new Map();
  for (const each of here) {
    if (SEVERITIES.indexOf(each.severity) > SEVERITIES.indexOf(worst.get(each.line))) worst.set(each.line, each.severity);
  }
  const numbers = document.createDocumentFragment();
  const papers = document.createDocumentFragment();
  lines.forEach((line, index) => {
    const severity = worst.get(index + 1);
    numbers.append(severity ? element("span", { class: severity }, `${index + 1}`) : `${index + 1}`, "\n");
    const mark = element("div", severity ? { class: severity } : {});
    const first = here.find((each) => each.line === index + 1 && each.severity === severity);
    if (first) {
      const points = [...line]; // Columns count code points, not UTF-16 units.
      const end = first.endLine === first.line ? first.endColumn - 1 : points.length;
      mark.append(points.slice(0, first.column - 1).join(""), element("u", {}, points.slice(first.column - 1, Math.max(end, first.column)).join("") || " "));
      mark.append(points.slice(Math.max(end, first.column)).join(""));
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

/** Replace the text of the editor so that it can be undone: only the difference is typed. */
function type(tab, wanted) {
  openFile(tab);
  const before = text.value;
  if (before === wanted) return;
  let start = 0;
  while (start < before.length && before[start] === wanted[start]) start++;
  let end = 0;
  while (end < before.length - start && end < wanted.length - start && before.at(-1 - end) === wanted.at(-1 - end)) end++;
  text.focus();
  text.setSelectionRange(start, before.length - end);
  const inserted = wanted.slice(start, wanted.length - end);
  const typed = inserted ? document.execCommand("insertText", false, inserted) : document.execCommand("delete");
  if (!typed) text.value = wanted;
  texts[tab] = text.value;
}

/** Return the index of a line and column in a text; a code point may be two UTF-16 units. */
function offset(line, column) {
  const lines = texts[open].split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
}

function select(tab, line, column, endLine = line, endColumn = column) {
  openFile(tab);
  const start = offset(line, column);
  const end = Math.max(start, endLine === line ? offset(endLine, endColumn) : offset(line, Infinity));
  const height = parseFloat(getComputedStyle(text).lineHeight);
  text.scrollTop = Math.max(0, (line - 1) * height - text.clientHeight / 3);
  text.focus({ preventScroll: false });
  text.setSelectionRange(start, end);
  follow();
}

function goTo(which) {
  const finding = findings[which];
  if (!finding) return;
  current = which;
  for (const each of list.children) each.classList.toggle("here", each.dataset.number === String(which));
  if (selected("views") !== 0) openView(0);
  list.querySelector(".here")?.scrollIntoView({ block: "nearest" });
  select(finding.tab, finding.line, finding.column, finding.endLine, finding.endColumn);
}

text.addEventListener("input", () => {
  const before = texts[open];
  texts[open] = text.value;
  changed(before);
});
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
document.addEventListener("keydown", (event) => {
  if (event.key !== "F8" || !findings.length) return;
  event.preventDefault();
  goTo((current + (event.shiftKey ? findings.length - (current < 0 ? 0 : 1) : 1)) % findings.length);
});

// Fixes.

async function fixOne(which) {
  if (!isCurrent(checked)) return; // The text has changed since; the list will be updated soon.
  const { tab, text: wanted, made } = await ask("fix", which);
  if (made) type(tab, wanted);
  else status.textContent = "This fix would change something else here; nothing was changed.";
}

byId("fix-all").addEventListener("click", async () => {
  if (!isCurrent(checked)) return;
  const wanted = await ask("fix_all");
  wanted.forEach((each, tab) => each !== texts[tab] && type(tab, each));
});

// The placement.

let placed = "";
async function place() {
  if (!version) return;
  const happens = byId("happens").value;
  const question = JSON.stringify([...texts, happens]);
  if (placed === question) return;
  placed = question;
  const frame = byId("plan");
  try {
    const answer = await ask("place", ...texts, happens);
    if (placed !== question) return;
    frame.hidden = "problem" in answer;
    byId("place-status").replaceChildren(...prose(answer.problem ? `No placement: ${answer.problem}.` : ""));
    if (answer.page) frame.srcdoc = answer.page;
  } catch (error) {
    frame.hidden = true;
    byId("place-status").textContent = lastLine(error);
  }
}
byId("happens").addEventListener("change", place);

// Pages of rules: the subset of Markdown that they use.

async function showRule(rule) {
  const page = byId("rule");
  const nodes = paragraphs(await ask("page", rule));
  const more = element("p", {}, element("a", { href: `../rules/${rule}.html` }, "This page on the site"));
  page.replaceChildren(...nodes, more);
  byId("view-2").hidden = false;
  openView(2);
  page.scrollTop = 0;
  page.focus();
}

function paragraphs(markdown) {
  const nodes = [];
  for (const block of markdown.matchAll(/^```([^\n]*)\n([^]*?)^```$|^(#+) (.*)$|^((?:- .*|  \S.*)(?:\n(?:- |  ).*)*)|^([^\n`#-][^]*?)(?=\n\n|\n```|\n#|\n- |\s*$(?![^]))/gm)) {
    const [, about, code, level, heading, items, words] = block;
    if (code !== undefined) nodes.push(...fence(about, code));
    else if (heading) nodes.push(element(level.length > 1 ? "h3" : "h2", {}, ...inline(heading)));
    else if (items) nodes.push(element("ul", {}, ...items.split(/\n?^- /m).filter(Boolean).map((each) => element("li", {}, ...inline(each)))));
    else if (words) nodes.push(element("p", {}, ...inline(words)));
  }
  return nodes;
}

const ABOUT = { bad: "wrong:", good: "right:", said: "reported as:" };

function fence(about, code) {
  const label = about.split(" ").map((word) => ABOUT[word]).find(Boolean);
  const shown = element("pre", { tabindex: "0" }, code);
  return label ? [element("p", { class: "soft" }, label), shown] : [shown];
}

function inline(words) {
  return words.split(/(`[^`]+`|\[[^\]]+\]\(https?:[^)\s]+\))/).filter(Boolean).map((part) => {
    const link = part.match(/^\[([^\]]+)\]\((https?:[^)\s]+)\)$/);
    if (link) return element("a", { href: link[2], rel: "noreferrer", target: "_blank" }, link[1].replaceAll("`", ""));
    return /^`.+`$/.test(part) ? element("code", {}, part.slice(1, -1)) : part.replaceAll("\n", " ");
  });
}

// Tabs.

const tabsOf = (id) => [...byId(id).querySelectorAll("[role=tab]")];
const selected = (id) => tabsOf(id).findIndex((each) => each.getAttribute("aria-selected") === "true");

function chooseTab(id, which) {
  tabsOf(id).forEach((each, index) => {
    each.setAttribute("aria-selected", String(index === which));
    each.tabIndex = index === which ? 0 : -1;
  });
}

function openFile(tab) {
  if (tab === open) return;
  scrolled[open] = text.scrollTop;
  open = tab;
  chooseTab("files", tab);
  byId("editor").setAttribute("aria-labelledby", `file-${tab}`);
  text.setAttribute("aria-label", tab ? "Nodes, as printed by kubectl" : "Manifest, YAML or JSON");
  text.value = texts[tab];
  text.scrollTop = scrolled[tab];
  draw(findings);
}

function openView(which) {
  chooseTab("views", which);
  ["findings", "placement", "rule"].forEach((id, index) => (byId(id).hidden = index !== which));
  if (which === 1) place();
}

for (const [id, choose] of [["files", openFile], ["views", openView]]) {
  tabsOf(id).forEach((tab, index) => tab.addEventListener("click", () => choose(index)));
  byId(id).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const there = tabsOf(id).filter((each) => !each.hidden);
    const next = there[(there.indexOf(document.activeElement) + step + there.length) % there.length];
    choose(tabsOf(id).indexOf(next));
    next.focus();
  });
}

// Links: the packed texts after the `#`, which a browser does not send to the server.

async function through(stream, bytes, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const chunks = [];
  for (let size = 0, { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    size += value.length;
    if (size > most) throw new Error("too large");
    chunks.push(value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

async function packed() {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(texts)));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#1.${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Return the texts of a link; null if it has none. */
async function unpacked(fragment) {
  const found = fragment.match(/^#1\.([\w-]+)$/);
  if (!found) return null;
  const binary = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(binary, (each) => each.charCodeAt(0)), LARGEST_LINK);
  const given = JSON.parse(new TextDecoder().decode(bytes));
  return Array.isArray(given) && given.length === 2 && given.every((each) => typeof each === "string") ? given : null;
}

byId("link").addEventListener("click", async ({ currentTarget: button }) => {
  history.replaceState(null, "", await packed());
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "It is in the address bar";
  }
  setTimeout(() => (button.textContent = "Copy link"), 2000);
});

function load(given) {
  [texts[0], texts[1]] = given;
  openFile(0);
  text.value = texts[0];
  text.scrollTop = 0;
  findings = [];
  draw([]);
  check();
}

async function fromLink() {
  try {
    const given = await unpacked(location.hash);
    if (given) load(given);
    return given !== null;
  } catch {
    status.textContent = "The link is broken: it cannot be unpacked.";
    return true;
  }
}
window.addEventListener("hashchange", fromLink);

// Start.

async function main() {
  startWorker();
  const examples = await (await fetch(`${BASE}examples.json`)).json();
  const menu = byId("examples");
  menu.append(...examples.map(({ name }, index) => element("option", { value: index }, name)));
  menu.addEventListener("change", () => {
    const chosen = examples[menu.value];
    if (!chosen) return;
    if (location.hash) history.replaceState(null, "", location.pathname);
    load([chosen.manifest, chosen.nodes]);
  });
  if (!(await fromLink())) {
    load([examples[0].manifest, examples[0].nodes]);
    menu.value = "0";
  }
}

main();
