// Run by zot as an extension: passes frames between zot and the process that has the tools.
import { connect } from "node:net";

const socket = connect(/** @type {string} */ (process.argv[2]));
socket.on("error", (error) => process.stderr.write(`the program that has the tools is gone: ${error.message}\n`));
// Left by itself, so that what was written is still passed on.
socket.on("close", () => process.stdin.destroy());
process.stdout.on("error", () => socket.destroy());
process.stdin.pipe(socket).pipe(process.stdout);
