// Runs the scenarios that the official conformance suite requires of each revision against everything-server and
// everything-client. Runs each scenario in a separate process, with that revision only. See --help.
//
// Selects the scenarios of the suite's `--requirements REVISION`: the required ones, and those that the suite runs but
// does not score. Scenarios of extensions are selected only for authorization (clients), tasks (servers) and skills
// (both). For revisions without requirements, runs the scenarios that apply to them, except those in older.yaml. Unlike
// the suite, counts warnings and failed unscored scenarios as failures.

import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const HELP = `usage: tests/conformance/run [options]

  --leg server|client   test only the server or only the client
  --revision REVISION   test only this revision
  --only NAME           run only this scenario
  --sdk                 run the suite's own command for SDKs, with the entry in sdk.json
  --server-url URL      test a running server; implies --leg server
  --replicas N          test N replicas behind nginx, which share a Redis server; implies --leg server
  --gateway             test the server behind the gateway, except for gateway.yaml; implies --leg server
  --no-build            do not build the programs
  --jobs N              run N scenarios at a time (default: 4)
  --verbose             print all checks of each scenario, not only failed ones

Results are written to tmp/conformance/results in the target directory.`;

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '../..');
const TARGET = process.env.CARGO_TARGET_DIR ?? join(HERE, '../../target');
const PLACE = join(TARGET, 'tmp/conformance');
const RESULTS = join(PLACE, 'results');
const SUITE = join(PLACE, 'node_modules/@modelcontextprotocol/conformance');
const REVISIONS = ['2025-11-25', '2026-07-28'];
/** The scenarios of skills, which the suite has no requirements for. They are run in all revisions. */
const SKILLS = {
  server: ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory'],
  client: [
    'sep-2640-client-no-prefetch',
    'sep-2640-client-verify-digest',
    'sep-2640-client-verify-size',
    'sep-2640-client-verify-frontmatter',
  ],
};
const LEGS = ['server', 'client'];
/** Scenarios that affect others, and so run alone. */
const ALONE = ['server-stateless'];
/** Scenarios that the suite has not implemented yet. It skips their only check. */
const PENDING = ['tasks-status-notifications'];
/** The time limit of a scenario, and the additional time for its process to exit, in milliseconds. */
const TIME_LIMIT = 30_000;
const GRACE = 15_000;
/** Prefix of a job's problem when its program does not exist. */
const MISSING = 'missing program:';

const { parse: yaml } = createRequire(join(PLACE, 'package.json'))('yaml');

/** How the suite builds and starts the programs, in the format of its list of known SDKs. */
const SDK = JSON.parse(readFileSync(join(HERE, 'sdk.json'), 'utf8'));

/** Why scenarios of these revisions are not scored. */
const OLDER_REVISION = 'older revision';
/** The revisions that the suite has no requirements for. */
const OLDER = yaml(readFileSync(join(HERE, 'older.yaml'), 'utf8'));

/** An error that is reported without a stack trace. */
class UserError extends Error {}

async function main() {
  const options = parseOptions();
  if (options.replicas && spawnSync('nginx', ['-v']).error) {
    console.log('NOTE: nginx is not installed; the server is not tested behind a load balancer');
    return true;
  }
  if (options.replicas && spawnSync('redis-server', ['--version']).error) {
    console.log('NOTE: redis-server is not installed; the server is not tested with replicas that share it');
    return true;
  }
  if (options.sdk) return runSdk(options);
  const baseline = readBaseline();
  const jobs = plan(options, baseline);
  const programs = {};
  if (jobs.some((job) => job.leg === 'client') || !options['server-url']) {
    if (!options['no-build']) build(options);
    const program = (command) => located(command).split(' ')[0] + (process.platform === 'win32' ? '.exe' : '');
    for (const leg of LEGS) programs[leg] = program(SDK[leg].command);
    programs.gateway = program('./target/debug/mcpgen-gateway');
  }
  const servers = await serversFor(jobs, options, programs);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  try {
    await runAll(jobs, Number(options.jobs), { urlOf: (job) => servers.of(job)?.url, client: programs.client });
  } finally {
    servers.stop();
  }
  return report(jobs, baseline, options);
}

function parseOptions() {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    options: {
      leg: text,
      revision: text,
      only: text,
      sdk: flag,
      'server-url': text,
      replicas: text,
      gateway: flag,
      'no-build': flag,
      jobs: { type: 'string', default: '4' },
      verbose: flag,
      help: { ...flag, short: 'h' },
    },
  });
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  const known = (name, all) => {
    if (values[name] !== undefined && !all.includes(values[name])) throw new UserError(`--${name} must be one of ${all.join(', ')}`);
  };
  known('leg', LEGS);
  known('revision', [...Object.keys(OLDER), ...REVISIONS]);
  if (values['server-url'] && values.leg === 'client') throw new UserError('--server-url cannot be combined with --leg client');
  if (values.replicas !== undefined) {
    if (!(Number(values.replicas) >= 1) || values['server-url']) throw new UserError('--replicas must be a number of at least 1, and cannot be combined with --server-url');
    values.leg = 'server';
  }
  if (values.gateway) {
    if (values['server-url'] || values.replicas) throw new UserError('--gateway cannot be combined with --server-url or --replicas');
    values.leg = 'server';
  }
  if (!(Number(values.jobs) >= 1)) throw new UserError('--jobs must be a number of at least 1');
  return values;
}

/** Returns the suite's requirements for a revision. */
function requirements(revision) {
  const { server, client, not_scored: others } = yaml(readFileSync(join(SUITE, 'requirements', `${revision}.yaml`), 'utf8'));
  return { server, client, others: others ?? [] };
}

/** Returns the scenarios to skip, from baseline.yaml. */
function readBaseline() {
  const baseline = yaml(readFileSync(join(HERE, 'baseline.yaml'), 'utf8')) ?? {};
  const all = REVISIONS.map(requirements);
  const legs = Object.keys(baseline).filter((leg) => !LEGS.includes(leg));
  if (legs.length > 0) throw new UserError(`baseline.yaml: expected the keys ${LEGS.join(' and ')}, found ${legs.join(', ')}`);
  for (const leg of LEGS) {
    for (const entry of baseline[leg] ?? []) {
      const other = all.flatMap(({ others }) => others).find(({ scenario, leg: of }) => scenario === entry && of === leg);
      const isExtension = other?.reason === 'extension';
      if (!isExtension) throw new UserError(`baseline.yaml: ${leg}: ${JSON.stringify(entry)} is not allowed: only scenarios of extensions can be skipped`);
      const isKnown = other !== undefined || all.some((required) => required[leg].includes(entry));
      if (!isKnown) throw new UserError(`baseline.yaml: ${leg}: no revision requires ${entry}`);
    }
  }
  return Object.fromEntries(LEGS.map((leg) => [leg, baseline[leg] ?? []]));
}

/** Returns the scenarios that fail behind the gateway, by revision, with their reasons. */
function readExceptions() {
  const exceptions = yaml(readFileSync(join(HERE, 'gateway.yaml'), 'utf8'));
  for (const [revision, reasons] of Object.entries(exceptions)) {
    const { server, others } = requirements(revision);
    const known = [...server, ...others.map(({ scenario }) => scenario), ...SKILLS.server];
    const unknown = Object.keys(reasons).filter((scenario) => !known.includes(scenario));
    if (unknown.length > 0) throw new UserError(`gateway.yaml: ${revision}: no such scenario: ${unknown.join(', ')}`);
  }
  return exceptions;
}

/** The scenarios of extensions that the programs support, by their prefix. */
const EXTENSIONS = { client: 'auth/', server: 'tasks-' };

/** Returns whether the programs support an unscored scenario. */
const isSupported = ({ leg, scenario, reason }) => reason !== 'extension' || scenario.startsWith(EXTENSIONS[leg]);

/** Returns the scenarios to run. */
function plan(options, baseline) {
  const jobs = [];
  for (const leg of options['server-url'] ? ['server'] : LEGS) {
    for (const revision of REVISIONS) {
      const required = requirements(revision);
      const others = required.others.filter((other) => other.leg === leg && isSupported(other));
      const add = (scenario, reason) => {
        if (!baseline[leg].includes(scenario)) jobs.push({ leg, revision, scenario, reason });
      };
      for (const scenario of required[leg]) add(scenario);
      for (const { scenario, reason } of others) add(scenario, reason);
      for (const scenario of SKILLS[leg]) add(scenario, 'extension');
    }
    // Replicas, the gateway and a server given by URL support all revisions, so the suite's client would negotiate a
    // newer one.
    if (options.replicas || options.gateway || options['server-url']) continue;
    for (const [revision, older] of Object.entries(OLDER)) {
      const exceptions = older.exceptions[leg] ?? {};
      const applicable = [...new Set(older.scenarios_of.flatMap((version) => listed(leg, version)))];
      const unknown = Object.keys(exceptions).find((scenario) => !applicable.includes(scenario));
      if (unknown) throw new UserError(`older.yaml: ${revision}: ${leg}: the suite lists no scenario ${unknown}`);
      for (const scenario of applicable) {
        jobs.push({ leg, revision, scenario, reason: OLDER_REVISION, version: older.suite_version, known: exceptions[scenario] });
      }
    }
  }
  if (options.gateway) {
    const exceptions = readExceptions();
    for (const job of jobs) job.known = exceptions[job.revision]?.[job.scenario];
  }
  const isSelected = (job) => ['leg', 'revision'].every((name) => options[name] === undefined || options[name] === job[name]);
  const selected = jobs.filter((job) => isSelected(job) && (options.only === undefined || options.only === job.scenario));
  if (selected.length === 0) throw new UserError('no required scenario matches the options');
  return selected;
}

/** Returns the scenarios that the suite lists for a revision. */
function listed(leg, version) {
  const args = [join(SUITE, 'dist/index.js'), 'list', `--${leg}`, '--spec-version', version];
  const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const names = [...stdout.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name]) => name);
  if (status !== 0 || names.length === 0) throw new UserError(`the suite lists no scenarios for ${leg} ${version}`);
  return names;
}

function build({ gateway }) {
  const command = gateway ? `${SDK.build} -p mcpgen-gateway` : SDK.build;
  const { error, status } = spawnSync(command, { cwd: ROOT, shell: true, stdio: ['ignore', 2, 2] });
  if (error || status !== 0) throw new UserError(`${command}: ${error?.message ?? `failed with status ${status}`}`);
}

/** Returns a command of sdk.json with the target directory of this run. */
const located = (command) => command.replace('./target/', join(TARGET, '/'));

/** Runs the suite's command for SDKs. Returns whether all required scenarios passed. */
async function runSdk(options) {
  const port = String(await freePort());
  const at = (text) => located(text).replace('3000', port);
  const entry = ['--client-cmd', at(SDK.client.command), '--server-cmd', at(SDK.server.command), '--server-url', at(SDK.server.url)];
  entry.push('--build-cmd', SDK.build, '--expected-failures', join(ROOT, SDK.expectedFailures));
  if (options['no-build']) entry.push('--skip-build');
  for (const revision of options.revision ? [options.revision] : REVISIONS) {
    for (const mode of options.leg ? [options.leg] : LEGS) {
      const args = [join(SUITE, 'dist/index.js'), 'sdk', '--path', ROOT, '--mode', mode, '--requirements', revision, ...entry];
      const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
      if (status !== 0) return false;
    }
  }
  return true;
}

/** Starts the servers under test, unless --server-url names a running one. Each older revision has one of its own. */
async function serversFor(jobs, options, programs) {
  const servers = new Map();
  const key = ({ revision }) => (revision in OLDER ? revision : '');
  const of = (job) => servers.get(key(job));
  const stop = () => servers.forEach((server) => server.stop());
  for (const job of jobs.filter(({ leg }) => leg === 'server')) {
    if (of(job)) continue;
    servers.set(key(job), await serverFor(key(job), options, programs).catch((error) => {
      stop();
      throw error;
    }));
  }
  return { of, stop };
}

/** Starts a server that supports only the revision `older`, or all revisions if `older` is empty. */
async function serverFor(older, options, programs) {
  if (options['server-url']) return { url: options['server-url'], stop() {} };
  if (!existsSync(programs.server)) throw new UserError(`${programs.server} does not exist; run without --no-build`);
  mkdirSync(RESULTS, { recursive: true });
  if (options.replicas) return replicas(Number(options.replicas), programs.server);
  if (older) return start(programs.server, `everything-server-${older}`, ['--revision', older]);
  const server = await start(programs.server, 'everything-server');
  return options.gateway ? gateway(server, programs.gateway) : server;
}

/** Starts the gateway in front of a server. */
async function gateway(server, program) {
  const port = await freePort();
  const log = join(RESULTS, 'gateway.log');
  const child = spawn(program, ['bridge', server.url, '--listen', `127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.pipe(createWriteStream(log));
  const stopGateway = stopper(child);
  const stop = () => [stopGateway, server.stop].forEach((stop) => stop());
  await listening(child, port, 'the gateway', log).catch((error) => {
    stop();
    throw error;
  });
  return { url: `http://127.0.0.1:${port}/mcp`, stop };
}

/** Waits until a process listens on a port. */
async function listening(child, port, name, log) {
  const failed = new Promise((_, reject) => child.once('error', reject).once('exit', (code) => reject(new UserError(`${name} exited: ${code}`))));
  failed.catch(() => {});
  for (let tries = 0; tries < 100; tries += 1) {
    if (await Promise.race([failed, canConnect(port)])) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new UserError(`${name} does not listen on port ${port}; see ${log}`);
}

/** Starts a program that prints its URL in the first line of its output. */
async function start(program, name, args = []) {
  const log = join(RESULTS, `${name}.log`);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stderr.pipe(createWriteStream(log));
  const stop = stopper(child);
  const url = await new Promise((resolve, reject) => {
    const fail = (reason) => reject(new UserError(`${name}: ${reason}; see ${log}`));
    const timer = setTimeout(() => fail('printed no URL within 10 s'), 10_000);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => fail(`exited: ${signal ?? code}`));
    createInterface(child.stdout).once('line', (line) => {
      clearTimeout(timer);
      line.startsWith('http://') ? resolve(line.trim()) : fail(`printed ${JSON.stringify(line)} instead of its URL`);
    });
  }).catch((error) => {
    stop();
    throw error;
  });
  return { url, stop };
}

/** Returns a function that stops a child process. Also stops it when this process exits. */
function stopper(child) {
  const stop = () => child.kill();
  process.once('exit', stop);
  return stop;
}

/** Starts replicas behind nginx, which sends each request to the next one. They share a Redis server. */
async function replicas(count, program) {
  const ports = await Promise.all(Array.from({ length: count + 1 }, freePort));
  const front = ports.pop();
  const servers = [];
  const stop = () => servers.forEach((server) => server.stop());
  try {
    const database = await redis();
    servers.push(database);
    for (const port of ports) {
      servers.push(await start(program, `replica-${port}`, ['--port', String(port), '--redis', database.url]));
    }
    servers.push(await proxy(front, ports));
  } catch (error) {
    stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${front}/mcp`, stop };
}

/** Starts a Redis server without persistence. */
async function redis() {
  const port = await freePort();
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', RESULTS];
  const child = spawn('redis-server', options, { stdio: 'ignore' });
  const stop = stopper(child);
  for (let tries = 0; tries < 100; tries += 1) {
    if (await canConnect(port)) return { url: `redis://127.0.0.1:${port}`, stop };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  stop();
  throw new UserError(`redis-server does not listen on port ${port}`);
}

async function proxy(front, ports) {
  const directory = join(RESULTS, 'nginx');
  mkdirSync(directory, { recursive: true });
  const configuration = join(directory, 'nginx.conf');
  const upstream = ports.map((port) => `    server 127.0.0.1:${port};`).join('\n');
  const text = readFileSync(join(HERE, 'nginx.conf'), 'utf8');
  writeFileSync(configuration, text.replaceAll('FOLDER', directory).replace('REPLICAS', upstream).replace('PORT', String(front)));
  const child = spawn('nginx', ['-c', configuration, '-e', join(directory, 'error.log')], { stdio: 'ignore' });
  const stop = stopper(child);
  await listening(child, front, 'nginx', directory);
  return { stop };
}

const canConnect = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket.destroy() !== undefined));
    socket.once('error', () => resolve(false));
  });

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Runs `limit` scenarios at a time, and then those of `ALONE` one by one. */
async function runAll(jobs, limit, programs) {
  const isAlone = (job) => ALONE.includes(job.scenario);
  const concurrent = jobs.filter((job) => !isAlone(job));
  await Promise.all(
    Array.from({ length: limit }, async () => {
      for (let job = concurrent.shift(); job; job = concurrent.shift()) await run(job, programs);
    }),
  );
  for (const job of jobs.filter(isAlone)) await run(job, programs);
}

/** Runs a scenario, and stores its results in the job. */
async function run(job, { urlOf, client }) {
  const { leg, revision, scenario, version = revision } = job;
  if (leg === 'client' && !existsSync(client)) {
    Object.assign(job, { checks: [], seconds: 0, problem: `${MISSING} ${client}` });
    return;
  }
  const directory = join(RESULTS, `${leg}-${revision}`, scenario);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  // The suite splits the command at spaces, joins the parts, and passes the result to a shell.
  const target = leg === 'server' ? ['--url', urlOf(job)] : ['--command', `'${client}' --revision ${revision}`];
  const args = [join(SUITE, 'dist/index.js'), leg, ...target, '--scenario', scenario, '--spec-version', version];
  args.push('--force', '--timeout', String(TIME_LIMIT), '--output-dir', directory);
  const started = Date.now();
  const { status, output } = await execute(args, directory);
  job.seconds = (Date.now() - started) / 1000;
  const files = readdirSync(directory, { recursive: true });
  const checks = files.filter((path) => path.endsWith('checks.json'));
  const stderr = files.find((path) => path.endsWith('stderr.txt'));
  job.stderr = stderr && lastLines(readFileSync(join(directory, stderr), 'utf8'));
  job.checks = checks.flatMap((path) => JSON.parse(readFileSync(join(directory, path), 'utf8')));
  job.problem = problemOf(job, checks.length, status, output);
}

/** Returns why a scenario failed, apart from failed checks. Returns undefined if there is no such reason. */
function problemOf({ scenario, checks }, files, status, output) {
  if (files !== 1) return `expected one file checks.json from the suite, found ${files}:\n${lastLines(output)}`;
  const isPending = PENDING.includes(scenario) && checks.every((check) => check.status === 'SKIPPED');
  if (!isPending && !checks.some((check) => check.status === 'SUCCESS')) return 'no check passed';
  const failed = checks.some((check) => check.status === 'FAILURE' || check.status === 'WARNING');
  // The client exited with an error, or did not exit.
  return status === 0 || failed ? undefined : `the suite exited with ${status}:\n${lastLines(output)}`;
}

function execute(args, directory) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
    const timer = setTimeout(() => child.kill('SIGKILL'), TIME_LIMIT + GRACE);
    child.once('error', (error) => (output += error.message));
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ status: code ?? signal ?? 'an error', output });
    });
  });
}

const count = (job, status) => job.checks.filter((check) => check.status === status).length;
const passed = (job) => !job.problem && count(job, 'FAILURE') === 0 && count(job, 'WARNING') === 0;
/** Whether a scenario passed or failed as it should. */
const expected = (job) => passed(job) === (job.known === undefined);

/** Returns the outcome of a scenario. */
function outcome(job) {
  if (expected(job)) return passed(job) ? 'ok' : 'known';
  return passed(job) ? 'PASSED' : 'FAILED';
}

/** Prints the results. Returns whether all scenarios passed. */
function report(jobs, baseline, options) {
  table(jobs);
  for (const job of jobs) details(job, options.verbose);
  const parts = [];
  for (const leg of LEGS) {
    for (const revision of [...REVISIONS, ...Object.keys(OLDER)]) {
      const tested = jobs.filter((job) => job.leg === leg && job.revision === revision);
      if (tested.length > 0) parts.push(`${leg} ${revision}: ${tally(tested, revision in OLDER ? [] : requirements(revision)[leg], baseline[leg])}`);
    }
  }
  const missing = jobs.find((job) => job.problem?.startsWith(MISSING));
  if (missing) console.log(`\n${missing.problem}\n`);
  for (const job of jobs.filter((job) => passed(job) && job.known)) {
    console.log(`${job.revision} ${job.scenario} passed; remove it from ${options.gateway ? 'gateway' : 'older'}.yaml`);
  }
  const known = jobs.filter((job) => job.known).length;
  const allExpected = jobs.every(expected);
  console.log(`${parts.join('; ')}: ${allExpected ? (known > 0 ? `passed, except for ${known} known failures` : 'all passed') : 'FAILED'}`);
  return allExpected;
}

function tally(jobs, required, baseline) {
  const ratio = (some) => `${some.filter(passed).length}/${some.length}`;
  const others = jobs.filter((job) => job.reason);
  const skipped = required.filter((scenario) => baseline.includes(scenario)).length;
  const scored = jobs.filter((job) => !job.reason);
  const parts = scored.length > 0 ? [`${ratio(scored)} required`] : [];
  const isOlder = others.some(({ reason }) => reason === OLDER_REVISION);
  if (others.length > 0) parts.push(`${ratio(others)} ${isOlder ? 'applicable' : 'not scored'}`);
  if (skipped > 0) parts.push(`${skipped} skipped by baseline.yaml`);
  return parts.join(', ');
}

function table(jobs) {
  const head = ['leg', 'revision', 'scenario', '', 'passed', 'failed', 'warnings', 'skipped', 'info', 'seconds', ''];
  const statuses = ['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO'];
  const rows = jobs.map((job) => [
    job.leg,
    job.revision,
    job.scenario,
    outcome(job),
    ...statuses.map((status) => String(count(job, status))),
    job.seconds.toFixed(1),
    job.known ?? job.reason ?? '',
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)));
  // Aligns numbers to the right.
  const cell = (text, column) => (column > 3 && column < 10 ? text.padStart(widths[column]) : text.padEnd(widths[column]));
  for (const row of [head, ...rows]) console.log(row.map(cell).join('  ').trimEnd());
  console.log();
}

/** Prints the failed checks of a scenario, or all of them if `verbose` is set. */
function details(job, verbose) {
  const shown = job.checks.filter((check) => verbose || check.status === 'FAILURE' || check.status === 'WARNING');
  if (expected(job) && !verbose) return;
  console.log(`${job.leg} ${job.revision} ${job.scenario}`);
  if (job.problem) console.log(indent(job.problem, 2));
  if (job.stderr) console.log(indent(`stderr of the client:\n${job.stderr}`, 2));
  for (const { id, status, description, errorMessage, details: more } of shown) {
    console.log(`  ${status} ${id}: ${errorMessage ?? description}`);
    if (status !== 'SUCCESS' && more !== undefined) console.log(indent(shortened(JSON.stringify(more, null, 2)), 4));
  }
  console.log();
}

const lastLines = (text) => text.trim().split('\n').slice(-15).join('\n');
const indent = (text, by) => text.replace(/^/gm, ' '.repeat(by));
const shortened = (text) => (text.length > 4000 ? `${text.slice(0, 4000)} …` : text);

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  if (!(error instanceof UserError) && !error.code?.startsWith('ERR_PARSE_ARGS')) throw error;
  console.error(`run: ${error.message}`);
  process.exitCode = 2;
}
