// The page of `afflint place` in a tab beside the manifest, and the answer of `afflint why`.

import { execFile } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Program } from "./program";
import { workloadAt, type Workload } from "./workload";

let panel: vscode.WebviewPanel | undefined;

/** Shows where the workload at the cursor runs, or all workloads of the folder if the cursor is at none. */
export async function showPlacement(program: Program): Promise<void> {
  const place = await here();
  if (!place) return;
  const only = place.workload ? [`--only=${place.workload.name}`] : [];
  const page = await run(program, place.folder, ["place", ".", "--format", "html", ...nodes(place.folder), ...only, "--lose", "each:node"]);
  if (!page) return;
  if (!panel) {
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const options = { enableScripts: true, enableFindWidget: true, localResourceRoots: [] };
    panel = vscode.window.createWebviewPanel("afflint.placement", "Placement", beside, options);
    panel.onDidDispose(() => (panel = undefined));
  }
  panel.title = place.workload ? `${place.workload.kind} ${place.workload.name}` : "Placement";
  // The page has a policy of its own, which lets only its own script and style apply.
  panel.webview.html = page;
  panel.reveal(undefined, true);
}

/** Explains why the workload at the cursor does not run, or what prevents it from running elsewhere. */
export async function why(program: Program): Promise<void> {
  const place = await here();
  if (!place) return;
  if (!place.workload) {
    void vscode.window.showInformationMessage("afflint: Put the cursor on a workload.");
    return;
  }
  // The name comes from the manifest: after `--` it is not an option.
  const content = await run(program, place.folder, ["why", ...nodes(place.folder), "--", place.workload.name, "."]);
  if (!content) return;
  const document = await vscode.workspace.openTextDocument({ content, language: "plaintext" });
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
}

/** The folder of the workspace and the workload that the cursor is at. afflint reads files, so the document is saved. */
async function here(): Promise<{ folder: vscode.WorkspaceFolder; workload: Workload | undefined } | undefined> {
  const editor = vscode.window.activeTextEditor;
  const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
  if (!editor || !folder) {
    void vscode.window.showInformationMessage("afflint: Open a manifest of the folder first.");
    return undefined;
  }
  if (editor.document.isDirty && !(await editor.document.save())) return undefined;
  return { folder, workload: workloadAt(editor.document.getText().split(/\r?\n/), editor.selection.active.line) };
}

/** The options for the files with nodes. They are full paths, so that none is an option or `-`. */
export function nodes(folder: vscode.WorkspaceFolder): string[] {
  const files = vscode.workspace.getConfiguration("afflint", folder.uri).get<string[]>("nodes", []);
  return files.flatMap((file) => ["--nodes", path.resolve(folder.uri.fsPath, file)]);
}

/** What afflint prints; undefined, after a message, if it prints nothing, and if the user cancels. */
async function run(program: Program, folder: vscode.WorkspaceFolder, words: string[]): Promise<string | undefined> {
  const options = { cwd: folder.uri.fsPath, timeout: 120_000, maxBuffer: 64 << 20 };
  const progress = { location: vscode.ProgressLocation.Notification, title: `afflint ${words[0]}`, cancellable: true };
  const [output, reason] = await vscode.window.withProgress(progress, (_, token) => {
    return new Promise<[string, string]>((resolve) => {
      const child = execFile(program.command, words, options, (error, output, errors) => {
        const reason = errors.trim().split("\n").pop() || error?.message || "afflint printed nothing";
        resolve(token.isCancellationRequested ? ["", ""] : [output, reason]);
      });
      token.onCancellationRequested(() => child.kill());
    });
  });
  if (output || !reason) return output || undefined;
  const choice = await vscode.window.showErrorMessage(reason, ...(reason.includes("no nodes are known") ? ["Set the Nodes"] : []));
  if (choice) await vscode.commands.executeCommand("workbench.action.openSettings", "afflint.nodes");
  return undefined;
}
