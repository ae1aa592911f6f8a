// afflint in Visual Studio Code: starts the language server, shows its state, and adds commands.

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions, State } from "vscode-languageclient/node";
import { nodes, showPlacement, why } from "./placement";
import { configuredPath, find, install, type Program, watchPython } from "./program";

const SETTINGS = ["diagnostics", "syntaxErrors", "unknownFields", "hints", "completion", "hover"];
const LANGUAGES = ["yaml", "json", "helm"];
const DO_NOT_OFFER = "doNotOfferToInstall";

class Extension implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private program: Program | undefined;
  private starting: Promise<void> = Promise.resolve();
  private readonly log = vscode.window.createOutputChannel("afflint", { log: true });
  private readonly status = vscode.languages.createLanguageStatusItem("afflint", LANGUAGES.map((language) => ({ language })));

  constructor(private readonly context: vscode.ExtensionContext) {
    this.status.name = "afflint";
  }

  /** Starts the server, or starts it again. Calls wait for each other. */
  restart(): Promise<void> {
    this.starting = this.starting.then(() => this.stop()).then(() => this.start());
    return this.starting;
  }

  private async start(): Promise<void> {
    this.show("starting", vscode.LanguageStatusSeverity.Information, { busy: true });
    this.program = await find(this.context, this.log);
    await vscode.commands.executeCommand("setContext", "afflint.found", this.program !== undefined);
    if (!this.program) {
      this.show("not found", vscode.LanguageStatusSeverity.Error);
      if (!this.context.globalState.get(DO_NOT_OFFER)) void this.offerToInstall();
      return;
    }
    const { command, version, origin } = this.program;
    this.log.info(`afflint ${version}: ${command} (${origin})`);
    try {
      this.client = new LanguageClient("afflint", "afflint", serverOptions(command), clientOptions(this.log));
      this.client.onDidChangeState((change) => {
        // After a crash the client starts the server again by itself, unless it crashes too often.
        if (change.newState === State.Starting) this.show("starting", vscode.LanguageStatusSeverity.Information, { busy: true });
        if (change.newState === State.Stopped) this.show("stopped", vscode.LanguageStatusSeverity.Error);
        if (change.newState === State.Running) this.show(version, vscode.LanguageStatusSeverity.Information, { detail: `from ${origin}` });
      });
      await this.client.start();
    } catch (error) {
      this.show("failed to start", vscode.LanguageStatusSeverity.Error);
      this.log.error(`The server does not start: ${error instanceof Error ? error.message : error}`);
    }
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    await client?.dispose().catch((error: unknown) => this.log.warn(`The server did not stop: ${error}`));
  }

  private show(text: string, severity: vscode.LanguageStatusSeverity, { busy = false, detail = "" } = {}): void {
    this.status.text = `afflint ${text}`;
    this.status.severity = severity;
    this.status.busy = busy;
    this.status.detail = detail;
    const failed = severity === vscode.LanguageStatusSeverity.Error;
    this.status.command = failed ? { command: "afflint.restart", title: "Restart" } : { command: "afflint.showLog", title: "Log" };
  }

  private async offerToInstall(): Promise<void> {
    const configured = configuredPath();
    const message = configured
      ? `afflint.path is ${configured}, which does not start.`
      : "afflint was not found: not in the Python environment of this workspace, and not on PATH.";
    const choice = await vscode.window.showWarningMessage(message, ...(configured ? [] : ["Install"]), "Set the Path", "Do Not Ask Again");
    if (choice === "Install") await this.install();
    if (choice === "Set the Path") await vscode.commands.executeCommand("workbench.action.openSettings", "afflint.path");
    if (choice === "Do Not Ask Again") await this.context.globalState.update(DO_NOT_OFFER, true);
  }

  async install(): Promise<void> {
    const options = { location: vscode.ProgressLocation.Notification, title: "Installing afflint" };
    try {
      await vscode.window.withProgress(options, () => install(this.context, this.log));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.log.error(reason);
      void vscode.window.showErrorMessage(`afflint cannot be installed: ${reason.split("\n")[0]}`);
      return;
    }
    await this.restart();
  }

  showLog(): void {
    this.log.show();
  }

  /** Runs a command that needs afflint. */
  async with(command: (program: Program) => Promise<void>): Promise<void> {
    await this.starting;
    if (this.program) await command(this.program);
    else await this.offerToInstall();
  }

  dispose(): void {
    this.status.dispose();
    this.log.dispose();
  }
}

function serverOptions(command: string): ServerOptions {
  // Relative files of nodes are those of the first folder, where the server starts.
  const folder = vscode.workspace.workspaceFolders?.[0];
  return { command, args: ["lsp", ...(folder ? nodes(folder) : [])], options: folder ? { cwd: folder.uri.fsPath } : {} };
}

function clientOptions(log: vscode.LogOutputChannel): LanguageClientOptions {
  const configuration = vscode.workspace.getConfiguration("afflint");
  const initial = Object.fromEntries([...SETTINGS, "render"].map((name) => [name, configuration.get(name)]));
  return {
    documentSelector: LANGUAGES.map((language) => ({ scheme: "file", language })),
    initializationOptions: initial,
    synchronize: { configurationSection: SETTINGS.map((name) => `afflint.${name}`) },
    outputChannel: log,
    middleware: { workspace: { configuration: async (params, token, next) => ownSettings(await next(params, token)) } },
  };
}

/** The settings that the server knows; the others are those of the extension. */
function ownSettings<Result>(answer: Result): Result {
  if (!Array.isArray(answer)) return answer;
  return answer.map((section) =>
    section && typeof section === "object" ? Object.fromEntries(Object.entries(section).filter(([name]) => SETTINGS.includes(name))) : section,
  ) as Result;
}

/** Applies all safe fixes to the open document: the same as on save. */
async function fixAll(): Promise<void> {
  await vscode.commands.executeCommand("editor.action.codeAction", { kind: "source.fixAll.afflint", apply: "first" });
}

let extension: Extension;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  extension = new Extension(context);
  const command = (name: string, run: () => unknown) => vscode.commands.registerCommand(`afflint.${name}`, run);
  context.subscriptions.push(
    extension,
    command("restart", () => extension.restart()),
    command("showLog", () => extension.showLog()),
    command("install", () => extension.install()),
    command("fixAll", fixAll),
    command("showPlacement", () => extension.with(showPlacement)),
    command("why", () => extension.with(why)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (["afflint.path", "afflint.nodes", "afflint.render"].some((setting) => event.affectsConfiguration(setting))) void extension.restart();
    }),
  );
  await extension.restart();
  // Another interpreter is another environment, unless the setting names afflint.
  const watching = await watchPython(() => void (configuredPath() || extension.restart()));
  if (watching) context.subscriptions.push(watching);
}

/** VS Code waits for the server to end. */
export function deactivate(): Promise<void> {
  return extension.stop();
}
