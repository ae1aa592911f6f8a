// A session in Visual Studio Code: node session.js COMMAND ARGUMENTS... with the settings on standard input; prints what the user sees.
"use strict";
const fs = require("fs"), path = require("path"), Module = require("module");
const { spawn } = require("child_process");
const vscode = require("./vscode.js");
const load = Module._load;
Module._load = (name, ...more) => (name === "vscode" ? vscode : load(name, ...more));
const { LanguageClient } = require("vscode-languageclient/node");

const PATIENCE = 30000;
const until = async (condition) => {
  for (const end = Date.now() + PATIENCE; !condition() && Date.now() < end; ) await new Promise((go) => setTimeout(go, 20));
};
const settings = {};
for (const [key, value] of Object.entries(JSON.parse(fs.readFileSync(0, "utf8")))) {
  const parts = key.split("."), last = parts.pop();
  parts.reduce((found, part) => (found[part] ??= {}), settings)[last] = value;
}
const folder = process.cwd(), told = {};

async function main() {
  vscode.workspace.workspaceFolders = [{ uri: vscode.Uri.file(folder), name: path.basename(folder), index: 0 }];
  vscode.set(settings);
  const server = settings.glspc.server;
  const [command, ...before] = process.argv.slice(2);
  const running = spawn(command, [...before, ...server.commandArguments], { cwd: folder });
  running.stderr.on("data", (data) => vscode.log.push(`standard error: ${data}`));
  const ended = new Promise((end) => running.on("exit", end));
  const client = new LanguageClient("glspc", "Generic LSP Client", async () => running, {
    documentSelector: server.languageId,
    initializationOptions: server.initializationOptions ?? {},
    outputChannel: vscode.window.createOutputChannel(),
  });
  await client.start();
  const { providers, Range, Position } = vscode, never = new vscode.CancellationTokenSource().token;
  const name = path.join(folder, "cart.yaml"), other = vscode.Uri.file(path.join(folder, "web.yaml"));
  const text = fs.readFileSync(name, "utf8").replace("ssd: true", '"🦊": true').replace(/\n/g, "\r\n");
  const cart = vscode.open(vscode.Uri.file(name), "yaml", text), shown = () => vscode.shown(cart.uri);

  const wrong = () => shown().filter((each) => each.endsWith("wrong-type"));
  await until(() => wrong().length);
  told.behindFox = wrong();
  cart.edit(new Range(18, 8, 18, 12), "ssd");
  await until(() => shown().length === 2 && String(wrong()) !== String(told.behindFox));
  told.shown = shown();
  told.hover = (await providers.Hover.provideHover(cart, new Position(22, 16), never)).contents.value;
  const whole = new Range(0, 0, cart.lineCount - 1, 0);
  told.hints = (await providers.InlayHints.provideInlayHints(cart, whole, never)).map((each) => each.label);

  const [kind] = Object.keys(settings.editor.codeActionsOnSave);
  const only = vscode.CodeActionKind.Empty.append(kind);
  const [action] = await providers.CodeActions.provideCodeActions(cart, whole, { diagnostics: [], only }, never);
  const { edit } = await providers.CodeActions.resolveCodeAction(action, never);
  for (const [, edits] of edit.entries()) for (const each of edits) cart.edit(each.range, each.newText);
  await until(() => shown().length === 1 && !wrong().length);
  told.fixed = [...shown(), cart.lines[18]];

  vscode.set({ ...settings, afflint: { diagnostics: "workspace" } });
  await until(() => vscode.shown(other).length);
  told.unopened = vscode.shown(other);
  vscode.set(settings);
  await until(() => !vscode.shown(other).length);
  told.openOnly = vscode.shown(other);

  const nodes = path.join(folder, "..", "nodes.json");
  fs.writeFileSync(nodes, '{"nodes": [{"name": "one"}]}');
  vscode.touch(nodes);
  await until(() => shown().length > 1);
  told.withOtherNodes = shown();

  await client.stop();
  told.exit = await ended;
  told.log = vscode.log;
  process.stdout.write(JSON.stringify(told), () => process.exit(0));
}

main().catch((error) => {
  console.error(error, told, vscode.log);
  process.exit(1);
});
