// The playground on the home page: as high as its content on a phone, and in the colours of the site. From a disk, browsers do not run it.
document.addEventListener("DOMContentLoaded", () => {
  const frame = document.querySelector("iframe.playground");
  if (!frame) return;
  if (location.protocol === "file:") {
    frame.remove();
    document.querySelector("article details").open = true;
    return;
  }
  const narrow = matchMedia("(max-width: 60rem)");
  const fit = () => {
    const page = frame.contentDocument.documentElement;
    frame.style.height = narrow.matches ? `${page.querySelector("body").offsetHeight}px` : "";
    page.style.colorScheme = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
  };
  const watch = () => {
    new ResizeObserver(fit).observe(frame.contentDocument.body);
    fit();
  };
  frame.addEventListener("load", watch);
  if (frame.contentDocument.readyState === "complete" && frame.contentDocument.body.childElementCount) watch();
  narrow.addEventListener("change", fit);
  new MutationObserver(fit).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
});
