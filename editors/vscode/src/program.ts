// Finds the command `afflint`: a setting, the Python environment of the workspace, PATH, or the environment of this extension.

import { execFile } from "node:child_process";
import { access, constants, mkdir, readdir, rm } from "node:fs/promises";
import { homedir } from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";

const run = promisify(execFile);
const WINDOWS = process.platform === "win32";
const NAME = WINDOWS ? "afflint.exe" : "afflint";

export interface Program {
  command: string;
  version: string;
  origin: string;
}

/** The first `afflint` that starts. A path in the settings is the only candidate: a mistake there is reported, not passed over. */
export async function find(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<Program | undefined> {
  const setting = configuredPath();
  if (setting) {
    const command = path.resolve(firstFolder() ?? homedir(), setting.replace(/^~(?=\/|$)/, homedir()));
    const version = await versionOf(command, log);
    return version === undefined ? undefined : { command, version, origin: "the setting afflint.path" };
  }
  for await (const [command, origin] of candidates(context, log)) {
    if (!(await isExecutable(command))) continue;
    const version = await versionOf(command, log);
    if (version !== undefined) return { command, version, origin };
  }
  return undefined;
}

/** The path of afflint in the settings; empty if there is none. */
export function configuredPath(): string {
  return vscode.workspace.getConfiguration("afflint").get<string>("path", "").trim();
}

async function* candidates(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): AsyncGenerator<[string, string]> {
  const python = await selectedPython(log);
  if (python) yield [path.join(path.dirname(python), NAME), "the selected Python environment"];
  for (const folder of vscode.workspace.workspaceFolders ?? [])
    for (const name of [".venv", "venv"])
      yield [path.join(folder.uri.fsPath, name, WINDOWS ? "Scripts" : "bin", NAME), `the virtual environment ${name} of ${folder.name}`];
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter))
    // A relative folder would be one of the workspace.
    if (path.isAbsolute(folder)) yield [path.join(folder, NAME), "PATH"];
  // Where pipx and uv put commands. A VS Code that was not started in a shell does not know these folders.
  yield [path.join(homedir(), ".local", "bin", NAME), "~/.local/bin"];
  yield [ownCommand(context), "this extension"];
}

/** What the Python extension says about environments, if that extension is installed. */
async function pythonEnvironments() {
  return (await vscode.extensions.getExtension("ms-python.python")?.activate())?.environments;
}

/** Calls `changed` after the user has selected another interpreter in the Python extension. */
export async function watchPython(changed: () => void): Promise<vscode.Disposable | undefined> {
  const environments = await pythonEnvironments().catch(() => undefined);
  return environments?.onDidChangeActiveEnvironmentPath?.(changed);
}

/** The interpreter that the user selected in the Python extension. */
async function selectedPython(log: vscode.LogOutputChannel): Promise<string | undefined> {
  try {
    const environments = await pythonEnvironments();
    const selected = environments?.getActiveEnvironmentPath?.(vscode.workspace.workspaceFolders?.[0]?.uri);
    const environment = selected && (await environments.resolveEnvironment(selected));
    return environment?.executable?.uri?.fsPath;
  } catch (error) {
    log.warn(`The Python extension does not say which environment is selected: ${error}`);
    return undefined;
  }
}

async function versionOf(command: string, log: vscode.LogOutputChannel): Promise<string | undefined> {
  try {
    const { stdout } = await run(command, ["--version"], { timeout: 20_000, cwd: homedir() });
    const version = /version (\S+)/.exec(stdout)?.[1];
    if (version) return version;
    log.warn(`${command} does not print the version of afflint.`);
  } catch (error) {
    log.warn(`${command} does not start: ${error instanceof Error ? error.message : error}`);
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Installs the wheel of this extension, and what it depends on, into a virtual environment of the extension. */
export async function install(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<void> {
  const wheels = context.asAbsolutePath("bundled");
  const wheel = (await readdir(wheels)).find((name) => name.endsWith(".whl"));
  if (!wheel) throw new Error("this build of the extension contains no wheel");
  const environment = ownEnvironment(context);
  const python = (await selectedPython(log)) ?? (WINDOWS ? "py" : "python3");
  await mkdir(context.globalStorageUri.fsPath, { recursive: true });
  await rm(environment, { recursive: true, force: true });
  // Isolated, and from a folder of our own: modules of the workspace are not imported.
  const options = { cwd: context.globalStorageUri.fsPath, timeout: 600_000 };
  log.info(`Creating ${environment} with ${python}.`);
  await run(python, ["-I", "-m", "venv", environment], options);
  const own = path.join(environment, WINDOWS ? "Scripts" : "bin", WINDOWS ? "python.exe" : "python");
  await run(own, ["-I", "-m", "pip", "install", "--disable-pip-version-check", path.join(wheels, wheel)], options);
  log.info(`Installed ${wheel}.`);
}

function ownEnvironment(context: vscode.ExtensionContext): string {
  return path.join(context.globalStorageUri.fsPath, "environment");
}

function ownCommand(context: vscode.ExtensionContext): string {
  return path.join(ownEnvironment(context), WINDOWS ? "Scripts" : "bin", NAME);
}

function firstFolder(): string | undefined {
  return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
}
