// An LSP client, which drives the server on its standard input and output. Writes a report of each step to standard error.
import lsp from "vscode-languageserver-protocol/node";

const report = (step, value) => console.error(JSON.stringify({ step, value }));
const connection = lsp.createProtocolConnection(
  new lsp.StreamMessageReader(process.stdin),
  new lsp.StreamMessageWriter(process.stdout),
);
const uri = "file:///a.txt";
const position = { line: 0, character: 0 };
const labels = (items) => items.map((item) => item.label);

const diagnostics = new Promise((resolve) =>
  connection.onNotification(lsp.PublishDiagnosticsNotification.type, resolve),
);
connection.onRequest(lsp.ConfigurationRequest.type, ({ items }) => items.map((item) => item.section));
connection.listen();

const { capabilities } = await connection.sendRequest(lsp.InitializeRequest.type, {
  processId: null,
  rootUri: null,
  capabilities: {},
});
report("initialize", capabilities);
await connection.sendNotification(lsp.InitializedNotification.type, {});
const textDocument = { uri, languageId: "text", version: 1, text: "TODO: say äöü\nTODO" };
await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, { textDocument });
report("diagnostics", (await diagnostics).diagnostics);

// Each completion sees the edit before it.
const seen = [];
for (let version = 2; version < 12; version++) {
  const contentChanges = [{ text: `word${version}` }];
  void connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version },
    contentChanges,
  });
  const params = { textDocument: { uri }, position };
  seen.push(connection.sendRequest(lsp.CompletionRequest.type, params).then(labels));
}
report("completions", await Promise.all(seen));

const progress = [];
const token = "progress 1";
connection.onProgress(lsp.WorkDoneProgress.type, token, (value) => progress.push(value.kind));
const hover = { textDocument: { uri }, position, workDoneToken: token };
report("hover", await connection.sendRequest(lsp.HoverRequest.type, hover));
report("progress", progress);

const source = new lsp.CancellationTokenSource();
const slow = { textDocument: { uri }, position: { line: 99, character: 0 } };
const cancelled = connection.sendRequest(lsp.HoverRequest.type, slow, source.token);
setTimeout(() => source.cancel(), 50);
report("cancelled", await cancelled.catch((error) => error.code));

report("unknown method", await connection.sendRequest("none", null).catch((error) => error.code));
report("shutdown", await connection.sendRequest(lsp.ShutdownRequest.type));
await connection.sendNotification(lsp.ExitNotification.type);
process.exit(0);
