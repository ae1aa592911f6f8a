// What the language client of Visual Studio Code needs of the editor: documents, tabs, settings, watched files, and the providers that it
// registers. The types are those of jest-mock-vscode. Whatever an editor would refuse is thrown, so that the client writes it to its channel.
"use strict";
const path = require("path");
const { createVSCodeMock } = require("jest-mock-vscode");
const { CancellationTokenSource } = require("vscode-jsonrpc");
const { URI: Uri } = require("vscode-uri");

const types = createVSCodeMock({ fn: (each) => each || (() => undefined), mock() {} });
const { Disposable, EventEmitter, Position, Range } = types;
const events = {};
const event = (name) => (events[name] ??= new EventEmitter()).event;
const anyEvent = (more) => new Proxy(more, { get: (made, key) => (key in made || !/^on(Did|Will)/.test(String(key)) ? made[key] : event(key)) });

class TextDocument {
  constructor(uri, languageId, text) {
    Object.assign(this, { uri, languageId, version: 1, isUntitled: uri.scheme === "untitled" });
    this.break = text.includes("\r\n") ? "\r\n" : "\n";
    this.lines = text.split(/\r\n|\r|\n/);
  }
  get lineCount() { return this.lines.length; }
  getText() { return this.lines.join(this.break); }
  offsetAt({ line, character }) { return this.lines.slice(0, line).join("").length + line * this.break.length + character; }
  edit(range, newText) {
    for (const { line, character } of [range.start, range.end])
      if (!(character <= this.lines[line]?.length)) throw new Error(`an edit outside of the document: ${line}:${character}`);
    const text = newText.replace(/\r\n|\r|\n/g, this.break);
    const [start, end] = [this.offsetAt(range.start), this.offsetAt(range.end)];
    this.lines = (this.getText().slice(0, start) + text + this.getText().slice(end)).split(this.break);
    this.version++;
    events.onDidChangeTextDocument.fire({ document: this, contentChanges: [{ range, rangeOffset: start, rangeLength: end - start, text }] });
  }
}

const log = [];
const saying = (kind) => async (...words) => void log.push([kind, ...words.map(String)].join(": "));
const collections = new Set();
const providers = {};
const watchers = new Set();
let settings = {};
const at = (value, key) => key.split(".").reduce((found, part) => found?.[part], value);
const contains = (folder, file) => file.startsWith(folder + path.sep);
const tabs = [];

module.exports = {
  ...types,
  Uri,
  CancellationTokenSource,
  version: "1.95.0",
  env: { language: "en", appName: "Visual Studio Code" },
  CancellationError: class extends Error {},
  Hover: class { constructor(contents, range) { Object.assign(this, { contents, range }); } },
  InlayHint: class { constructor(position, label, kind) { Object.assign(this, { position, label, kind }); } },
  InlineCompletionItem: class {},
  CodeActionTriggerKind: { Invoke: 1, Automatic: 2 },
  RelativePattern: class { constructor(base, pattern) { Object.assign(this, { baseUri: base.uri ?? base, pattern }); } },
  TabInputText: class { constructor(uri) { this.uri = uri; } },
  TabInputTextDiff: class {},
  TabInputCustom: class {},
  TabInputNotebook: class {},
  commands: { registerCommand: () => new Disposable(() => {}) },
  window: anyEvent({
    tabGroups: anyEvent({ all: [{ tabs }] }),
    createOutputChannel: () => ({ append: saying("channel"), appendLine: saying("channel"), error: saying("channel"), show() {}, dispose() {} }),
    showErrorMessage: saying("error"),
    showWarningMessage: saying("warning"),
    showInformationMessage: saying("information"),
  }),
  workspace: anyEvent({
    textDocuments: [],
    notebookDocuments: [],
    workspaceFolders: [],
    getConfiguration(section) {
      const below = section ? at(settings, section) : settings;
      return { ...below, get: (key) => at(below, key) };
    },
    createFileSystemWatcher(pattern) {
      const watcher = { pattern, changed: new EventEmitter(), dispose: () => watchers.delete(watcher) };
      watchers.add(watcher);
      const never = new EventEmitter().event;
      return { onDidChange: watcher.changed.event, onDidCreate: never, onDidDelete: never, dispose: watcher.dispose };
    },
  }),
  languages: new Proxy({
    match: (selector, document) => ([].concat(selector).some((each) => (each.language ?? each) === document.languageId) ? 10 : 0),
    createDiagnosticCollection() {
      const shown = new Map();
      const collection = {
        shown,
        set: (uri, found) => shown.set(String(uri), found ?? []),
        has: (uri) => shown.has(String(uri)),
        delete: (uri) => shown.delete(String(uri)),
        dispose: () => collections.delete(collection),
      };
      collections.add(collection);
      return collection;
    },
  }, {
    get: (made, key) => made[key] ?? ((selector, provider, ...more) => {
      // Some take the provider after something else.
      providers[key.replace(/^register|Provider$/g, "")] = [provider, ...more].find((each) => typeof each === "object");
      return new Disposable(() => {});
    }),
  }),
  // What the user does and sees.
  log,
  providers,
  open(uri, languageId, text) {
    const document = new TextDocument(uri, languageId, text);
    module.exports.workspace.textDocuments.push(document);
    events.onDidOpenTextDocument.fire(document);
    module.exports.window.activeTextEditor = { document };
    const tab = { input: new module.exports.TabInputText(uri) };
    tabs.push(tab);
    events.onDidChangeTabs.fire({ opened: [tab], closed: [], changed: [] });
    return document;
  },
  set(changed) {
    settings = changed;
    events.onDidChangeConfiguration?.fire({ affectsConfiguration: () => true });
  },
  touch(file) {
    // A pattern that is a string is looked for below the open folders only.
    const inside = module.exports.workspace.workspaceFolders.some((each) => contains(each.uri.fsPath, file));
    for (const { pattern, changed } of watchers) {
      const base = pattern.baseUri?.fsPath;
      if (base ? path.join(base, pattern.pattern) === file : inside && pattern.startsWith("**/*.")) changed.fire(Uri.file(file));
    }
  },
  shown: (uri) => [...collections].flatMap((each) => each.shown.get(String(uri)) ?? [])
    .map(({ range: { start }, code }) => `${start.line + 1}:${start.character + 1} ${code.value ?? code}`).sort(),
};
