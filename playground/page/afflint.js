// afflint, in a worker that is started when it is needed first: it loads Python.

const BASE = new URL("./", import.meta.url).href;

const asked = new Map();
let number = 0;
let worker; // A promise of the worker, once it has been started.

/** Start Python, once, and return a promise of the worker. `onState` is called with the state: "loading", then "ready" with a version, or "failed". */
export function start(onState) {
  worker ??= new Promise((resolve, reject) => {
    onState("loading");
    const fail = (reason) => {
      onState("failed");
      reject(new Error(`afflint could not be started: ${reason}`));
    };
    const source = `import { serve } from ${JSON.stringify(`${BASE}worker.js`)}; serve(${JSON.stringify(BASE)});`;
    const made = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })), { type: "module" });
    made.onerror = (event) => fail(event.message || "the worker could not be started");
    made.onmessage = ({ data }) => {
      if ("failed" in data) return fail(data.failed);
      if ("id" in data) return answer(data);
      resolve(made);
      onState("ready", data.ready);
    };
  });
  return worker;
}

function answer({ id, answer: result, error }) {
  const { resolve, reject } = asked.get(id);
  asked.delete(id);
  if (error === undefined) resolve(result);
  else reject(new Error(`Internal error of afflint: ${error.trim().split("\n").at(-1)}`));
}

/** Ask for the result of a method of running.py. `start` must have been called. */
export async function ask(...question) {
  const running = await worker;
  return new Promise((resolve, reject) => {
    asked.set(++number, { resolve, reject });
    running.postMessage({ id: number, question });
  });
}

/** Keep the files of the page for the next visit, without a network. Returns whether this works. */
export async function keepOffline() {
  try {
    await navigator.serviceWorker.register(`${BASE}service-worker.js`);
    await navigator.serviceWorker.ready;
    return true;
  } catch {
    return false; // A private window, or no service worker: the page still works online.
  }
}
