// Caches every file of the page, so that it works offline from the second visit on. The build inserts the list of files.

const VERSION = "$version";
const FILES = $files;
const NAME = "afflint-playground-" + VERSION;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = (name) => name.startsWith("afflint-playground-") && name !== NAME;
  event.waitUntil(
    caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name)))).then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin) return;
  event.respondWith(
    caches.open(NAME).then(async (cache) => (await cache.match(url.pathname, { ignoreSearch: true })) ?? fetch(event.request)),
  );
});
