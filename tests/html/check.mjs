// Opens every page in the light theme, and some in the dark theme, with and without JavaScript. Checks that there are
// no console errors, requests or accessibility violations, and that the filter works.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const { CHROMIUM, MCPGEN, ROOT, PAGES } = process.env;
const shots = process.argv[2] === "--shots" ? process.argv[3] : undefined;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const revisions = [...readFileSync(join(ROOT, "schema/revisions.toml"), "utf8").matchAll(/^name = "(.+)"$/gm)].map((it) => it[1]);
mkdirSync(PAGES, { recursive: true });
if (shots) mkdirSync(shots, { recursive: true });

function page(name, ...options) {
  // Exit code 1 means that a report has findings.
  let text;
  try {
    text = execFileSync(MCPGEN, [...options, "--format", "html"], { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 });
  } catch (error) {
    if (error.status !== 1) throw error;
    text = error.stdout;
  }
  const file = join(PAGES, `${name}.html`);
  writeFileSync(file, text);
  return { name, url: pathToFileURL(file).href, bytes: text.length };
}

// Changes some of the tools, so that there is a report with each severity.
function changedTools() {
  const tools = JSON.parse(readFileSync(join(ROOT, "tests/proof/tool-lists/filesystem.json"), "utf8"));
  tools.tools[0].inputSchema.required.push("encoding");
  tools.tools[1].description += " Reads any file.";
  tools.tools[2].inputSchema.properties.paths.maxItems = 10;
  tools.tools[5].annotations.destructiveHint = true;
  tools.tools.splice(8, 1);
  const file = join(PAGES, "tools.json");
  writeFileSync(file, JSON.stringify(tools, null, 2));
  return file;
}

const pages = [];
for (const [at, old] of revisions.entries()) {
  for (const next of revisions.slice(at + 1)) pages.push(page(`${old}-${next}`, "diff", old, next));
}
const pairs = pages.length;
pages.push(page("tools", "diff", "--tools", "tests/proof/tool-lists/filesystem.json", changedTools()));
pages.push(page("same", "diff", revisions[0], revisions[0]));
for (const revision of revisions) pages.push(page(`inspect-${revision}`, "inspect", revision));

const dark = new Set([pages[0].name, "tools", "same", pages.at(-1).name]);

const browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const problems = [];
for (const { name, url } of pages) {
  // All pages have the same colors, so a few are enough for the second theme.
  for (const theme of dark.has(name) ? ["light", "dark"] : ["light"]) {
    const tab = await browser.newPage();
    const problem = (text) => problems.push(`${name}, ${theme}: ${text}`);
    tab.on("console", (message) => ["error", "warn"].includes(message.type()) && problem(message.text()));
    tab.on("pageerror", (error) => problem(error.message));
    tab.on("request", (request) => request.url().split("#")[0] !== url && !request.url().startsWith("data:") && problem(`requests ${request.url()}`));
    await tab.setViewport({ width: 1280, height: 900 });
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    await tab.goto(url);
    await tab.evaluate(axe);
    // Keep only the first elements of each kind: the others have the same structure, and axe would take minutes.
    const results = await tab.evaluate(async () => {
      for (const repeated of ["article", "tr", "details li"]) {
        [...document.querySelectorAll(repeated)].slice(40).forEach((element) => element.remove());
      }
      return (await window.axe.run(document)).violations.map((it) => `${it.id}: ${it.help}: ${it.nodes[0].html}`);
    });
    results.forEach((violation) => problem(`accessibility: ${violation}`));
    await tab.reload();
    if (shots) {
      await tab.screenshot({ path: join(shots, `${name}-${theme}.png`) });
      await tab.evaluate(() => (document.querySelector("#findings") ?? document.querySelector("#methods")).scrollIntoView());
      await tab.screenshot({ path: join(shots, `${name}-${theme}-below.png`) });
    }
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    if (wide) problem("is wider than the window");
    if (theme === "light" && (await tab.$("article"))) await filters(tab, name, problem);
    await tab.close();
  }
  await withoutScript(name, url);
}
await browser.close();

async function visible(tab) {
  return tab.$$eval("article", (all) => all.filter((article) => article.checkVisibility()).length);
}

async function filters(tab, name, problem) {
  const all = await visible(tab);
  await tab.type("input[type=search]", "no such words");
  if ((await visible(tab)) !== 0) problem("the search hides nothing");
  await tab.$eval("input[type=search]", (input) => {
    input.value = "";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  if ((await visible(tab)) !== all) problem("an empty search does not show everything");
  const boxes = await tab.$$("input[name=severity]");
  if (boxes.length > 0) {
    await boxes[0].click();
    const severities = await tab.$$eval("article", (them) => them.filter((it) => it.checkVisibility()).map((it) => it.dataset.severity));
    if (severities.includes("breaking")) problem("the severity filter shows other severities");
    const hash = await tab.evaluate(() => location.hash);
    if (!hash.includes("severity=")) problem(`the link has no filter: ${hash}`);
    await tab.reload();
    if ((await visible(tab)) !== severities.length) problem("the link does not restore the filter");
  }
  if (shots) await tab.screenshot({ path: join(shots, `${name}-filtered.png`) });
}

async function withoutScript(name, url) {
  const tab = await browser.newPage();
  await tab.setJavaScriptEnabled(false);
  await tab.goto(url);
  const html = readFileSync(new URL(url), "utf8");
  const articles = await tab.$$("article");
  if (articles.length !== html.split("<article ").length - 1) problems.push(`${name}: articles need JavaScript`);
  if (await tab.$(".filter:not([hidden])")) problems.push(`${name}: the filter is shown without JavaScript`);
  await tab.close();
}

console.log(`${pages.length} pages, of which ${pairs} compare two revisions; ${Math.max(...pages.map((it) => it.bytes))} bytes at most`);
if (problems.length > 0) {
  console.error([...new Set(problems)].join("\n"));
  process.exit(1);
}
console.log("no console errors, no requests, no accessibility violations");
