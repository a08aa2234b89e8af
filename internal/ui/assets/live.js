// Puts the fragments that the server sends in place, and keeps what the reader
// has opened or typed. The page is complete without it, but stays as it is.

const connection = document.getElementById("connection");

function say(text) {
  connection.hidden = text === "";
  connection.textContent = text;
}

// morph makes the children of have like those of want, and touches only what
// differs. Elements with an id stay the same element.
function morph(have, want) {
  const known = new Map();
  for (const child of have.children) {
    if (child.id) known.set(child.id, child);
  }
  let at = have.firstChild;
  for (const next of [...want.childNodes]) {
    const same = next.id ? known.get(next.id) : match(at, next);
    if (!same) {
      have.insertBefore(next, at);
      continue;
    }
    if (same === at) at = at.nextSibling;
    else have.insertBefore(same, at);
    if (!same.isEqualNode(next)) update(same, next);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

// match takes the element that is there for the next one, if it is of its sort.
function match(at, next) {
  return at && !at.id && at.nodeName === next.nodeName ? at : null;
}

function update(have, want) {
  if (have.nodeType !== Node.ELEMENT_NODE) {
    have.nodeValue = want.nodeValue;
    return;
  }
  const kept = have.nodeName === "DETAILS" ? ["open"] : [];
  for (const { name } of [...have.attributes]) {
    if (!want.hasAttribute(name) && !kept.includes(name)) have.removeAttribute(name);
  }
  for (const { name, value } of want.attributes) {
    if (have.getAttribute(name) !== value && !kept.includes(name)) have.setAttribute(name, value);
  }
  if (have !== document.activeElement || have.children.length > 0) morph(have, want);
}

function show(event) {
  const { id, html } = JSON.parse(event.data);
  const element = document.getElementById(id);
  if (!element) return;
  const parsed = new DOMParser().parseFromString(`<body>${html}</body>`, "text/html");
  morph(element, document.adoptNode(parsed.body));
}

// A browser has few connections for one server: only the page that is seen
// holds one.
let events = null;

function follow() {
  events?.close();
  events = null;
  if (document.hidden || !document.body.dataset.live) return;
  events = new EventSource(document.body.dataset.live);
  events.onopen = () => say("");
  events.onmessage = show;
  events.onerror = () => {
    if (events.readyState === EventSource.CLOSED) say("The live view has been restarted: open the address that mysdk has printed.");
    else say("Not connected: mysdk has ended, or is starting again.");
  };
}

document.addEventListener("visibilitychange", follow);
addEventListener("pagehide", () => events?.close());
follow();

// Buttons with data-copy copy the text of the element with that id.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
});

// A filter takes effect at once.
document.addEventListener("change", (event) => {
  if (event.target.matches("form.filter[method=get] select, form.filter input[type=range]")) event.target.form.requestSubmit();
});
