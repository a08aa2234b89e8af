// Forms with data-check are sent there while somebody types, and before they are
// submitted; what is wrong is shown beside the field that it is about.

let turn = 0;

async function check(form) {
  const mine = ++turn;
  const answer = await fetch(form.dataset.check, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  const text = await answer.text();
  if (mine !== turn) return false; // there is a newer question
  const said = answer.ok ? JSON.parse(text) : { "": text };
  for (const output of form.querySelectorAll("output[data-field]")) {
    const about = said[output.dataset.field] ?? "";
    output.textContent = about;
    form.elements[output.dataset.field]?.setAttribute("aria-invalid", about !== "");
  }
  return Object.keys(said).length === 0;
}

for (const form of document.querySelectorAll("form[data-check]")) {
  let timer = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, 250, form);
  });
  form.addEventListener("submit", async (event) => {
    if (form.dataset.checked) return;
    clearTimeout(timer); // a question that comes now would be the newer one
    event.preventDefault();
    const button = event.submitter;
    if (await check(form)) {
      form.dataset.checked = "yes";
      form.requestSubmit(button);
    } else {
      form.querySelector("[aria-invalid=true]")?.focus();
    }
  });
}
