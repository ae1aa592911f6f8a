// Runs afflint. It is started from a blob so that the Content Security Policy of the page applies: connections only to its own files.

let answer;

async function load(base, name) {
  const response = await fetch(new URL(name, base));
  if (!response.ok) throw new Error(`${name} is missing on the server`);
  return response;
}

async function start(base) {
  const parts = await (await load(base, "parts.json")).json();
  const { loadPyodide } = await import(new URL("pyodide/pyodide.mjs", base).href);
  const python = await loadPyodide({ indexURL: new URL("pyodide/", base).href });
  for (const name of parts.wheels) {
    python.unpackArchive(await (await load(base, name)).arrayBuffer(), "zip", { extractDir: "/afflint" });
  }
  for (const [module, name] of [["running", "running.py"], ["rpds", "persistent.py"]]) {
    python.FS.writeFile(`/afflint/${module}.py`, await (await load(base, name)).text());
  }
  // The files of the page are written to a folder of their own, in memory.
  python.runPython("import os, sys; sys.path.insert(0, '/afflint'); os.mkdir('/playground'); os.chdir('/playground')");
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
