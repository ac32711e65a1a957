// A JSON-RPC client that calls the methods of `contracts/sums.json`, with params by position and by name. Reports on
// standard error what happens.
import rpc from "vscode-jsonrpc/node";

const report = (step, value) => console.error(JSON.stringify({ step, value }));
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(process.stdin),
  new rpc.StreamMessageWriter(process.stdout),
);
const overflowed = new Promise((resolve) => connection.onNotification("overflow", resolve));
connection.listen();
const { byName } = rpc.ParameterStructures;
const failure = (error) => [error.code, error.message];

report("by position", await connection.sendRequest("add", 1, 2.5));
report("by name", await connection.sendRequest("add", byName, { a: 3, b: 4 }));
report("wrong params", await connection.sendRequest("add", 1).catch(failure));
report("error of the contract", await connection.sendRequest("add", 1e300, 1).catch(failure));
report("notification", await overflowed);
report("list", await connection.sendRequest("list", byName, { limit: 1 }));
await connection.sendNotification("reset");
report("after the reset", await connection.sendRequest("list"));
process.exit(0);
