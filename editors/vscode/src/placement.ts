// The page of `afflint place` in a tab beside the manifest, and the answer of `afflint why`.

import { execFile } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Program } from "./program";
import { workloadAt, type Workload } from "./workload";

interface Answer {
  code: number;
  output: string;
  errors: string;
}

/** Shows where the workload at the cursor runs, or all workloads of the folder if the cursor is at none. */
export async function showPlacement(program: Program): Promise<void> {
  const place = here();
  if (!place) return;
  const only = place.workload ? ["--only", place.workload.name] : [];
  const answer = await run(program, place.folder, ["place", ".", "--format", "html", ...nodes(place.folder), ...only, "--lose", "each:node"]);
  if (!answer.output) return fail(answer);
  const title = place.workload ? `${place.workload.kind} ${place.workload.name}` : "Placement";
  const panel = vscode.window.createWebviewPanel("afflint.placement", title, vscode.ViewColumn.Beside, { enableScripts: true });
  // The page has a policy of its own, which lets only its own script and style apply.
  panel.webview.html = answer.output;
}

/** Explains why the workload at the cursor does not run, or what prevents it from running elsewhere. */
export async function why(program: Program): Promise<void> {
  const place = here();
  if (!place?.workload) {
    void vscode.window.showInformationMessage("afflint: Put the cursor on a workload.");
    return;
  }
  const answer = await run(program, place.folder, ["why", place.workload.name, ".", ...nodes(place.folder)]);
  if (!answer.output) return fail(answer);
  const document = await vscode.workspace.openTextDocument({ content: answer.output, language: "plaintext" });
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
}

/** The folder of the workspace and the workload that the cursor is at. */
function here(): { folder: vscode.WorkspaceFolder; workload: Workload | undefined } | undefined {
  const editor = vscode.window.activeTextEditor;
  const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
  if (!editor || !folder) {
    void vscode.window.showInformationMessage("afflint: Open a manifest of the folder first.");
    return undefined;
  }
  return { folder, workload: workloadAt(editor.document.getText().split(/\r?\n/), editor.selection.active.line) };
}

function nodes(folder: vscode.WorkspaceFolder): string[] {
  const files = vscode.workspace.getConfiguration("afflint", folder.uri).get<string[]>("nodes", []);
  return files.flatMap((file) => ["--nodes", path.resolve(folder.uri.fsPath, file)]);
}

function run(program: Program, folder: vscode.WorkspaceFolder, words: string[]): Promise<Answer> {
  const options = { cwd: folder.uri.fsPath, timeout: 120_000, maxBuffer: 64 << 20 };
  return new Promise((resolve) => {
    execFile(program.command, words, options, (error, output, errors) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, output, errors: errors || error?.message || "" });
    });
  });
}

function fail(answer: Answer): void {
  void vscode.window.showErrorMessage(answer.errors.trim().split("\n").pop() || `afflint ended with exit code ${answer.code}`);
}
