// Passes requests on to a server and adds its token, which the conformance suite cannot send.
//
//   node mcp-conformance-proxy.mjs PORT TOKEN     prints the port it listens on
import http from 'node:http';

const [port, token] = process.argv.slice(2);
const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const forwarded = http.request(
    { host: '127.0.0.1', port, path: request.url, method: request.method, headers },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    },
  );
  forwarded.on('error', () => response.destroy());
  // A client that leaves cancels its request.
  response.on('close', () => forwarded.destroy());
  request.pipe(forwarded);
});
proxy.listen(0, '127.0.0.1', () => console.log(proxy.address().port));
