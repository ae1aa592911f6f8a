// Runs afflint. It is started from a blob so that the Content Security Policy of the page applies: connections only to its own files.

let answer;

async function start(base) {
  const { loadPyodide } = await import(new URL("pyodide/pyodide.mjs", base).href);
  const python = await loadPyodide({ indexURL: new URL("pyodide/", base).href });
  const parts = await (await fetch(new URL("parts.json", base))).json();
  for (const name of parts.wheels) {
    const response = await fetch(new URL(name, base));
    if (!response.ok) throw new Error(`${name} is not there`);
    python.unpackArchive(await response.arrayBuffer(), "zip", { extractDir: "/afflint" });
  }
  const running = await (await fetch(new URL("running.py", base))).text();
  python.FS.writeFile("/afflint/running.py", running);
  python.runPython("import sys; sys.path.insert(0, '/afflint')");
  answer = python.pyimport("running").answer;
  return parts.version;
}

export function serve(base) {
  self.onmessage = ({ data: { id, question } }) => {
    try {
      postMessage({ id, answer: JSON.parse(answer(JSON.stringify(question))) });
    } catch (error) {
      postMessage({ id, error: String(error.message ?? error) });
    }
  };
  start(base).then(
    (version) => postMessage({ ready: version }),
    (error) => postMessage({ failed: String(error.message ?? error) }),
  );
}
