// The workload at a position of a manifest, by its text.

export interface Workload {
  kind: string;
  name: string;
}

const SEPARATOR = /^---(\s|$)/;

/** The kind and the name of the object at a line; undefined where the text does not say them at the margin, as in flow style. */
export function workloadAt(lines: readonly string[], line: number): Workload | undefined {
  let first = Math.min(line, lines.length - 1);
  while (first > 0 && !SEPARATOR.test(lines[first] ?? "")) first--;
  let kind: string | undefined;
  let name: string | undefined;
  let inMetadata = false;
  let indentation = 0;
  for (let number = first; number < lines.length; number++) {
    const text = lines[number] ?? "";
    if (number > Math.max(first, line) && SEPARATOR.test(text)) break;
    const key = /^(\s*)(['"]?)([\w.]+)\2:\s*(.*?)\s*(?:\s#.*)?$/.exec(text);
    if (!key) continue;
    const [, indent = "", , word = "", value = ""] = key;
    if (indent === "") {
      inMetadata = word === "metadata";
      indentation = 0;
      if (word === "kind") kind = plain(value);
      const flow = inMetadata && /^\{(?:.*[,{]\s*)?name:\s*([^,}\s]+)/.exec(value);
      if (flow) name = plain(flow[1] ?? "");
    } else if (inMetadata) {
      indentation ||= indent.length;
      if (word === "name" && indent.length === indentation) name = plain(value);
    }
  }
  return kind && name ? { kind, name } : undefined;
}

function plain(value: string): string {
  return value.replace(/^(['"])(.*)\1$/, "$2");
}
