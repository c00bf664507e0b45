// Run by zot as an extension: relays frames between zot and the process with the tools.
import { connect } from "node:net";

const socket = connect(/** @type {string} */ (process.argv[2]));
socket.on("error", (error) => process.stderr.write(`the program with the tools is gone: ${error.message}\n`));
// Not exited, so that pending output is still relayed.
socket.on("close", () => process.stdin.destroy());
process.stdout.on("error", () => socket.destroy());
process.stdin.pipe(socket).pipe(process.stdout);
