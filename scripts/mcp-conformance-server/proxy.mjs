// Runs the conformance suite against a server that wants a token, which the suite cannot send: a proxy adds it.
//
//   node scripts/mcp-conformance-server/proxy.mjs SERVER ARGUMENT… -- SUITE ARGUMENT…
//
// The server prints its URL and an Authorization header, as `zot mcp serve --http` does. The suite gets --url.
import { spawn } from 'node:child_process';
import http from 'node:http';
import readline from 'node:readline';

const words = process.argv.slice(2);
const split = words.indexOf('--');
const [program, ...programArguments] = words.slice(0, split);
const [suite, ...suiteArguments] = words.slice(split + 1);

const server = spawn(program, programArguments, { stdio: ['ignore', 'pipe', 'inherit'] });
server.on('exit', (code) => {
  if (code !== null) {
    console.error(`${program} ended with ${code}`);
    process.exit(1);
  }
});
const lines = readline.createInterface({ input: server.stdout })[Symbol.asyncIterator]();
const url = new URL((await lines.next()).value);
const authorization = (await lines.next()).value.replace('Authorization: ', '');

const proxy = http.createServer((request, response) => {
  const options = {
    hostname: url.hostname,
    port: url.port,
    path: request.url,
    method: request.method,
    headers: { ...request.headers, authorization },
  };
  const onward = http.request(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  // A client that hangs up has to be noticed.
  response.on('close', () => onward.destroy());
  request.pipe(onward);
});
proxy.listen(0, '127.0.0.1', () => {
  const address = `http://127.0.0.1:${proxy.address().port}${url.pathname}`;
  const run = spawn(suite, [...suiteArguments, '--url', address], { stdio: 'inherit' });
  run.on('exit', (code) => {
    server.kill('SIGKILL');
    process.exit(code ?? 1);
  });
});
