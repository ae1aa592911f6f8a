// The page: an editor for files, the findings in them, and a simulation of the placement.

import { ask, keepOffline, start } from "./afflint.js";
import * as editor from "./editor.js";
import { button, byId, element, prose } from "./elements.js";
import { LinkError, pack, unpack } from "./links.js";
import { nameProblem } from "./names.js";
import { item } from "./results.js";
import { paragraphs } from "./rule.js";
import * as tabs from "./tabs.js";

const BASE = new URL("./", import.meta.url).href;
const EMBEDDED = new URLSearchParams(location.search).has("embed"); // On the home page: Python is loaded when the user asks for it.
const LONG_LINK = 8000; // Characters; some programs cut longer addresses.
const NODES = "nodes.yaml";
const LARGEST_FILE = 1_000_000; // Bytes.
const NOTHING = { findings: [], safe: 0, summary: "Type or paste a manifest, or drop files on the page.", notes: [] };

const state = { files: new Map(), open: "", view: "findings", happens: "" };
let examples = [];
let report = NOTHING;
let checked = ""; // The files that the report is about, as JSON.
let current = -1; // The number of the last visited finding.

const given = () => Object.fromEntries(state.files);
const isCurrent = () => checked === JSON.stringify(given());
const say = (text) => (byId("status").textContent = text);

// afflint.

let version = "";

function run() {
  const running = start((now, more) => {
    byId("loading").hidden = now !== "loading";
    if (now === "loading" && !isCurrent()) say("");
    if (now !== "ready") return;
    version = byId("status").dataset.version = more;
    check();
    keepOffline().then((works) => works && (byId("offline").textContent = "Works offline from now on."));
  });
  running.catch((error) => say(error.message));
}

/** Ask afflint, which is started if necessary. What goes wrong is shown. */
async function asked(...question) {
  run();
  try {
    return await ask(...question);
  } catch (error) {
    say(error.message);
    return null;
  }
}

// Checks: after a pause in typing, and never two at a time.

let timer = 0;
let busy = false;
let again = false;

function changed() {
  clearTimeout(timer);
  timer = setTimeout(check, 200);
}

async function check() {
  if (!version) return run();
  again = true;
  if (busy) return;
  busy = true;
  while (again) {
    again = false;
    const files = given();
    const answer = await asked("check", files);
    if (answer && JSON.stringify(files) === JSON.stringify(given())) show(answer, files);
  }
  busy = false;
  if (state.view === "placement") place();
}

function show(answer, files) {
  report = answer;
  checked = JSON.stringify(files);
  current = -1;
  say(report.summary);
  const all = byId("fix-all");
  all.hidden = !report.safe;
  all.textContent = report.safe > 1 ? `Apply all ${report.safe} safe fixes` : "Apply the safe fix";
  byId("notes").replaceChildren(...report.notes.map((note) => element("li", {}, ...prose(note))));
  const explain = (rule) =>
    EMBEDDED
      ? element("a", { href: `../rules/${rule}.html`, target: "_top" }, rule)
      : button(rule, () => showRule(rule), { class: "plainly", title: "The page of the rule" });
  byId("list").replaceChildren(...report.findings.map((each) => item(each, { go: goTo, select: selectSpan, explain, fix: fixOne })));
  drawFiles();
  draw();
}

function goTo(which) {
  const finding = report.findings.find(({ number }) => number === which);
  if (!finding) return;
  current = which;
  for (const each of byId("list").children) each.classList.toggle("here", each.dataset.number === String(which));
  openView("findings");
  byId("list").querySelector(".here")?.scrollIntoView({ block: "nearest" });
  selectSpan(finding);
}

function selectSpan({ file, line, column, endLine, endColumn }) {
  openFile(file);
  editor.select(line, column, endLine, endColumn);
}

document.addEventListener("keydown", (event) => {
  const many = report.findings.length;
  if (event.key !== "F8" || !many) return;
  event.preventDefault();
  goTo((current + (event.shiftKey ? many - (current < 0 ? 0 : 1) : 1)) % many);
});

// Fixes. The report may be about older files for a moment; then the list is updated soon.

async function fixOne(number) {
  if (!isCurrent()) return;
  const done = await asked("fix", given(), number);
  if (!done || !isCurrent()) return;
  openFile(done.file);
  if (done.made) editor.type(done.text);
  else say("This fix would change something else here; nothing was changed.");
}

byId("fix-all").addEventListener("click", async () => {
  if (!isCurrent()) return;
  const fixed = await asked("fix_all", given());
  if (!fixed || !isCurrent()) return;
  for (const [name, text] of Object.entries(fixed)) {
    if (text === state.files.get(name)) continue;
    openFile(name);
    editor.type(text);
  }
});

// Files.

const scrolled = new Map();

function drawFiles() {
  const many = (name) => report.findings.filter((each) => each.file === name).length;
  const made = [...state.files.keys()].map((name, index) => {
    const attributes = { role: "tab", type: "button", id: `file-${index}`, "aria-controls": "editor", "data-name": name };
    const count = many(name) ? [element("span", { class: "count", title: "findings" }, `${many(name)}`)] : [];
    return element("button", attributes, name, " ", ...count);
  });
  const focused = byId("files").contains(document.activeElement);
  byId("files").replaceChildren(...made);
  const chosen = made.find((each) => each.dataset.name === state.open);
  tabs.mark(byId("files"), chosen);
  byId("editor").setAttribute("aria-labelledby", chosen.id);
  if (focused) chosen.focus();
  byId("files").scrollLeft = chosen.offsetLeft - byId("files").offsetLeft - chosen.offsetWidth; // Only the tabs scroll, not the page.
  byId("delete").disabled = state.files.size === 1;
}

const draw = () => editor.draw(report.findings.filter((each) => each.file === state.open));

function openFile(name) {
  if (name === state.open || !state.files.has(name)) return;
  scrolled.set(state.open, byId("text").scrollTop);
  state.open = name;
  editor.show(name, state.files.get(name));
  byId("text").scrollTop = scrolled.get(name) ?? 0;
  drawFiles();
  draw();
}

/** Replace the files, and open one of them. */
function setFiles(files, open) {
  state.files = new Map(files);
  state.open = open;
  editor.show(open, state.files.get(open));
  byId("text").scrollTop = 0;
  drawFiles();
  draw();
  changed();
}

editor.onInput((text) => {
  const before = state.files.get(state.open);
  state.files.set(state.open, text);
  const here = (each) => each.file === state.open;
  const findings = editor.moved(report.findings.filter(here), before.split("\n"), text.split("\n"));
  report = { ...report, findings: [...report.findings.filter((each) => !here(each)), ...findings] };
  changed();
  draw();
});

/** Ask the user for a file name; `done` gets it. `renamed` is the name of the file that gets it, if it has one. */
function askName(title, renamed, done) {
  const others = [...state.files.keys()].filter((name) => name !== renamed);
  const free = ["manifest.yaml", NODES, ".afflint.yaml"].find((name) => !others.includes(name)) ?? "";
  const dialog = byId("naming");
  byId("naming-title").textContent = title;
  byId("name").value = renamed ?? free;
  byId("name-problem").textContent = "";
  dialog.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    const name = byId("name").value.trim();
    const problem = nameProblem(name, others);
    byId("name-problem").textContent = problem;
    if (problem) return byId("name").focus();
    dialog.close();
    done(name);
    byId("text").focus();
  };
  dialog.showModal();
  byId("name").select();
}
byId("cancel").addEventListener("click", () => byId("naming").close());

byId("add").addEventListener("click", () => askName("Add a file", undefined, (name) => setFiles([...state.files, [name, ""]], name)));

byId("rename").addEventListener("click", () => {
  const renamed = state.open;
  askName(`Rename ${renamed}`, renamed, (name) => setFiles([...state.files].map(([each, text]) => [each === renamed ? name : each, text]), name));
});

byId("delete").addEventListener("click", () => {
  const before = [...state.files];
  const deleted = state.open;
  const at = before.findIndex(([name]) => name === deleted);
  const left = before.toSpliced(at, 1);
  setFiles(left, left[Math.max(0, at - 1)][0]);
  const undo = () => {
    setFiles([...state.files].toSpliced(at, 0, before[at]), deleted);
    notice();
  };
  notice(`Deleted ${deleted}. `, button("Undo", undo));
});

document.addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
document.addEventListener("drop", async (event) => {
  const dropped = [...event.dataTransfer.files];
  if (!dropped.length) return;
  event.preventDefault();
  const files = new Map(state.files);
  const problems = [];
  for (const file of dropped) {
    const problem = file.size > LARGEST_FILE ? "It is larger than 1 MB." : nameProblem(file.name, [...files.keys()].filter((name) => name !== file.name));
    if (problem) problems.push(`${file.name} is not added. ${problem} `);
    else files.set(file.name, await file.text());
  }
  notice(...problems);
  const added = dropped.find(({ name }) => files.has(name));
  if (added) setFiles(files, added.name);
});

// The placement.

let placed = "";

async function place() {
  run();
  const question = JSON.stringify([given(), state.happens]);
  if (placed === question) return;
  placed = question;
  const answer = await asked("place", given(), state.happens);
  if (placed !== question) return;
  const frame = byId("plan");
  frame.hidden = !answer?.page;
  const nodes = examples.find(({ files }) => NODES in files)?.files[NODES];
  const add = button("Add three nodes", () => setFiles([...state.files, [NODES, nodes]], NODES));
  const canAdd = answer?.needsNodes && nodes && !state.files.has(NODES);
  const why = answer?.needsNodes ? `${answer.problem}. Add the output of \`kubectl get nodes -o yaml\`, or node pools, as a file.` : answer?.problem;
  byId("place-status").replaceChildren(...(why ? [...prose(`No placement: ${why} `), ...(canAdd ? [add] : [])] : []));
  if (answer?.page) frame.srcdoc = answer.page;
}

byId("plan").addEventListener("load", ({ target: frame }) => frame.style.setProperty("--content", `${frame.contentDocument.documentElement.offsetHeight + 2}px`));
byId("happens").addEventListener("change", (event) => {
  state.happens = event.target.value;
  place();
});

// Views.

const VIEWS = ["findings", "placement", "rule"];

function openView(view) {
  if (view !== "rule") state.view = view;
  tabs.mark(byId("views"), byId(`view-${view}`));
  for (const each of VIEWS) byId(each).hidden = each !== view;
  if (view === "placement") place();
}

async function showRule(rule) {
  const markdown = await asked("page", rule);
  if (!markdown) return;
  const page = byId("rule");
  const more = element("p", {}, element("a", { href: `../rules/${rule}.html` }, "This page on the site"));
  page.replaceChildren(...paragraphs(markdown), more);
  byId("view-rule").hidden = false;
  openView("rule");
  page.scrollTop = 0;
  page.focus();
}

tabs.operate(byId("files"), (tab) => openFile(tab.dataset.name));
tabs.operate(byId("views"), (tab) => openView(tab.id.replace("view-", "")));

// Links and examples.

/** Show a message above the editor until the next one; without parts, none. */
function notice(...parts) {
  byId("notice").hidden = !parts.length;
  byId("notice-text").replaceChildren(...parts);
}
byId("close-notice").addEventListener("click", () => notice());

/** Return the part of a link after the `#`. If the files are too large for one, this is reported, and null is returned. */
async function packed() {
  try {
    return await pack(state);
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    notice(error.message);
    return null;
  }
}

byId("link").addEventListener("click", async () => {
  const fragment = await packed();
  if (!fragment) return;
  history.replaceState(null, "", fragment);
  const copied = await navigator.clipboard.writeText(location.href).then(() => true, () => false);
  const long = location.href.length > LONG_LINK ? `It has ${location.href.length.toLocaleString("en")} characters; some programs cut long links. ` : "";
  const where = copied ? "The link is copied" : "The link is in the address bar";
  notice(`${where}. ${long}It contains your files after the #, which browsers do not send to a server. Everyone who has the link can read them.`);
});

function load({ files, open = files.keys().next().value, view = "findings", happens = "" }, known) {
  const menu = byId("happens");
  menu.value = happens;
  if (menu.selectedIndex < 0) menu.value = "";
  state.happens = menu.value;
  report = NOTHING;
  setFiles(files, open);
  if (known) show(known, given());
  if (known && !version) clearTimeout(timer); // The report of the build is about these files.
  openView(view);
}

const loadExample = ({ files, report: known }) => load({ files: new Map(Object.entries(files)) }, known);

/** Load the state in the address. Returns whether there is one; a link that cannot be read is reported. */
async function loadLink() {
  try {
    const found = await unpack(location.hash);
    if (found) load(found);
    return found !== null;
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    notice(error.message);
    return false;
  }
}

window.addEventListener("hashchange", () => {
  notice();
  loadLink();
});

async function main() {
  document.body.className = EMBEDDED ? "embedded" : "";
  const response = await fetch(`${BASE}examples.json`);
  examples = await response.json();
  const menu = byId("examples");
  menu.append(...examples.map(({ title }, index) => element("option", { value: index }, title)));
  menu.addEventListener("change", () => {
    if (!menu.value) return;
    if (location.hash) history.replaceState(null, "", location.pathname + location.search);
    notice();
    if (menu.value === "empty") load({ files: new Map([["manifest.yaml", ""]]) }, NOTHING);
    else loadExample(examples[menu.value]);
  });
  byId("open").addEventListener("click", async (event) => {
    event.preventDefault();
    const fragment = await packed();
    if (fragment) window.open(`${BASE}index.html${fragment}`, "_top");
  });
  if (!(await loadLink())) {
    loadExample(examples[0]);
    menu.value = "0";
  }
  if (!EMBEDDED) run();
}

main().catch((error) => say(`The playground could not be loaded: ${error.message}`));
