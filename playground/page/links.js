// Links: the packed state of the page after the `#`, which a browser does not send to the server. Anyone may have written one.

import { nameProblem } from "./names.js";

const VERSION = "2";
const LARGEST = 1_000_000; // Bytes of an unpacked state.
const MOST_FILES = 50;

/** A link that cannot be read or made; the message is for the user. */
export class LinkError extends Error {}

async function through(stream, bytes, most) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const chunks = [];
  let size = 0;
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    size += value.length;
    if (size > most) throw new LinkError("This link is not opened: its files are too large.");
    chunks.push(value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** Return the part of a link after the `#` for a state: the files by name, the open file, the view, and the simulated disruption. */
export async function pack({ files, open, view, happens }) {
  const written = new TextEncoder().encode(JSON.stringify({ files: [...files], open, view, happens }));
  if (written.length > LARGEST || files.size > MOST_FILES) throw new LinkError("The files are too large for a link.");
  const bytes = await through(new CompressionStream("deflate-raw"), written, Infinity);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#${VERSION}.${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Return the state in the part of a link after the `#`; null if it has none. Throws LinkError. */
export async function unpack(fragment) {
  const found = fragment.match(/^#(\d+)\.(.*)$/s);
  if (!found) return null;
  if (found[1] !== VERSION) throw new LinkError("This link is not opened: it is from another version of the playground.");
  let given;
  try {
    const binary = atob(found[2].replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(binary, (each) => each.charCodeAt(0)), LARGEST);
    given = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw error instanceof LinkError ? error : new LinkError("This link is damaged: it cannot be unpacked.");
  }
  return checked(given);
}

/** Return a state of which every part has the right type. */
function checked(given) {
  const isPair = (each) => Array.isArray(each) && each.length === 2 && each.every((part) => typeof part === "string");
  if (!Array.isArray(given?.files) || !given.files.length || given.files.length > MOST_FILES || !given.files.every(isPair)) {
    throw new LinkError("This link is damaged: it has no files.");
  }
  const files = new Map();
  for (const [name, text] of given.files) {
    const problem = nameProblem(name, [...files.keys()]);
    if (problem) throw new LinkError(`This link is not opened. ${problem}`);
    files.set(name, text);
  }
  const open = files.has(given.open) ? given.open : given.files[0][0];
  return { files, open, view: given.view === "placement" ? "placement" : "findings", happens: String(given.happens ?? "") };
}
