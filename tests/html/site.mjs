// Opens the site in Chromium: every page once, and one of each kind in the light and dark themes, on a desktop and on a
// phone. Checks that there are no console errors, requests to other sites or accessibility violations, that nothing is
// wider than the window, and that the search finds things.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const { CHROMIUM, MCPGEN, ROOT, SITE } = process.env;
const shots = process.argv[2] === "--shots" ? process.argv[3] : undefined;
if (shots) mkdirSync(shots, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

rmSync(SITE, { recursive: true, force: true });
console.log(execFileSync(MCPGEN, ["site", "--out", SITE], { cwd: ROOT, encoding: "utf8" }).trim());
const site = pathToFileURL(SITE).href;
const pages = readdirSync(SITE, { recursive: true }).filter((path) => path.endsWith(".html")).map((path) => path.replaceAll("\\", "/"));

// The last page of each folder, which is about the newest revision if there are several, and all pages in the root.
const kinds = new Map(pages.sort().filter((path) => !path.endsWith("index.html")).map((path) => [dirname(path), path]));
kinds.set("types", "types/Tool.html");
const samples = new Set([...kinds.values(), ...pages.filter((path) => !path.includes("/") || path.endsWith("index.html"))]);

const browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const problems = new Set();

async function open(path, width = 1280, theme = "light") {
  const tab = await browser.newPage();
  const problem = (text) => problems.add(`${path}, ${theme}, ${width}: ${text}`);
  listen(tab, problem);
  await tab.setViewport({ width, height: 900 });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await tab.goto(`${site}/${path}`);
  return { tab, problem };
}

function listen(tab, problem) {
  tab.on("console", (message) => ["error", "warn"].includes(message.type()) && problem(message.text()));
  tab.on("pageerror", (error) => problem(error.message));
  tab.on("request", (request) => request.url().startsWith(`${site}/`) || request.url().startsWith("data:") || problem(`requests ${request.url()}`));
  tab.on("requestfailed", (request) => problem(`cannot load ${request.url()}`));
}

const every = await browser.newPage();
let current;
listen(every, (text) => problems.add(`${current}: ${text}`));
for (current of pages) {
  await every.goto(`${site}/${current}`);
  const titles = await every.$$eval("h1", (them) => them.length);
  if (titles !== 1) problems.add(`${current}: ${titles} titles`);
}
await every.close();

for (const path of samples) {
  for (const [theme, width] of [["light", 1280], ["dark", 1280], ["light", 390]]) {
    const { tab, problem } = await open(path, width, theme);
    if (shots) await tab.screenshot({ path: join(shots, `site-${path.replace(/\W+/g, "-")}-${theme}-${width}.png`) });
    if (await tab.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)) problem("is wider than the window");
    await tab.evaluate(axe);
    const violations = await tab.evaluate(async () => {
      // Keep only the first elements of each kind: the others have the same structure, and axe would take minutes.
      for (const repeated of ["article", "tr", "li", "details li"]) {
        [...document.querySelectorAll(repeated)].slice(60).forEach((element) => element.remove());
      }
      return (await window.axe.run(document, { preload: false })).violations.map((it) => `${it.id}: ${it.help}: ${it.nodes[0].html}`);
    });
    violations.forEach((violation) => problem(`accessibility: ${violation}`));
    await tab.close();
  }
}

// The search of the first page leads to the results, best first.
for (const [words, best] of [["Tool", "types/Tool.html"], ["tools/call", "#m-tools/call"], ["2025-11-25", "revisions/2025-11-25.html"], ["shutting", "guide/"]]) {
  const { tab, problem } = await open("index.html");
  await tab.type("input[name=q]", words);
  await Promise.all([tab.waitForNavigation(), tab.keyboard.press("Enter")]);
  const found = await tab.$$eval(".results li", (them) => them.filter((it) => it.checkVisibility()).map((it) => it.querySelector("a").getAttribute("href")));
  if (!found[0]?.includes(best)) problem(`the search for ${words} finds ${found[0]} first, of ${found.length}`);
  await tab.$eval("input[name=q]", (input) => {
    input.value = "no such words";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const shown = await tab.$eval("#shown", (output) => output.textContent);
  if (!shown.startsWith("0 of ")) problem(`the search for nothing shows ${shown}`);
  await tab.close();
}

// Without a script, the page lists everything.
const tab = await browser.newPage();
await tab.setJavaScriptEnabled(false);
await tab.goto(`${site}/search.html`);
if ((await tab.$$(".results li")).length < 300) problems.add("search.html needs JavaScript");
await browser.close();

if (problems.size > 0) {
  console.error([...problems].join("\n"));
  process.exit(1);
}
console.log(`${pages.length} pages, ${samples.size} of them in both themes and on a phone: no console errors, no requests, no accessibility violations`);
