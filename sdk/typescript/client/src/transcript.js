/** Splits a conversation into pieces that fit a line. */

/** @import { FullMessage } from "./protocol.js" */

/** A line is limited to 16 MiB; the rest of the frame needs a little. */
const MAX_PIECE_BYTES = 15 * 1024 * 1024;

/**
 * Splits only before user messages: zot would repair a tool call whose result is on the next line.
 * @param {readonly FullMessage[]} messages
 * @returns {FullMessage[][]} at least one piece
 */
export function pieces(messages, maxBytes = MAX_PIECE_BYTES) {
  /** @type {FullMessage[][]} */
  const found = [[]];
  let size = 0;
  for (const exchange of exchanges(messages)) {
    const bytes = Buffer.byteLength(JSON.stringify(exchange));
    if (size > 0 && size + bytes > maxBytes) {
      found.push([]);
      size = 0;
    }
    found[found.length - 1]?.push(...exchange);
    size += bytes;
  }
  return found;
}

/** @param {readonly FullMessage[]} messages */
function* exchanges(messages) {
  /** @type {FullMessage[]} */
  let exchange = [];
  for (const message of messages) {
    if (message.role === "user" && exchange.length > 0) {
      yield exchange;
      exchange = [];
    }
    exchange.push(message);
  }
  if (exchange.length > 0) yield exchange;
}
