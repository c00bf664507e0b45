/** Converts the result of a tool handler to content blocks. */

/** @import { ContentBlock, ImageBlock, ImageInput, TextBlock, ToolFailure } from "./tools.js" */

/** @implements {ToolFailure} */
class Failure {
  isError = /** @type {const} */ (true);

  /** @param {readonly ContentBlock[]} content */
  constructor(content) {
    this.content = content;
  }
}

/** @param {string} value @returns {TextBlock} */
export function text(value) {
  return { type: "text", text: value };
}

/** @param {string | Uint8Array} data @param {string} mimeType @returns {ImageBlock} */
export function image(data, mimeType) {
  return { type: "image", mime_type: mimeType, data: typeof data === "string" ? data : Buffer.from(data).toString("base64") };
}

/** @param {string | ContentBlock | readonly ContentBlock[]} content @returns {ToolFailure} */
export function toolError(content) {
  return new Failure(toBlocks(content));
}

/**
 * @param {unknown} result
 * @returns {{ content: ContentBlock[], is_error?: boolean }}
 */
export function toToolContent(result) {
  if (result instanceof Failure) return { content: [...result.content], is_error: true };
  return { content: toBlocks(result) };
}

/** @param {unknown} value @returns {ContentBlock[]} */
function toBlocks(value) {
  if (value === undefined || value === null) return [];
  if (typeof value === "string") return [text(value)];
  const single = toBlock(value);
  if (single !== undefined) return [single];
  if (Array.isArray(value)) {
    // A list of strings only is data; beside a block, a string is a block, too.
    const blocks = value.map((item) => (typeof item === "string" ? text(item) : toBlock(item)));
    if (blocks.every((block) => block !== undefined) && value.some((item) => typeof item !== "string")) return blocks;
  }
  const json = JSON.stringify(value);
  if (json === undefined) throw new TypeError(`a tool cannot return a ${typeof value}`);
  return [text(json)];
}

/** @param {unknown} value @returns {ContentBlock | undefined} */
function toBlock(value) {
  if (typeof value !== "object" || value === null) return undefined;
  const { type, text: words, data, mime_type: mime } = /** @type {Record<string, unknown>} */ (value);
  if (type === "text" && typeof words === "string") return text(words);
  if (type === "image" && typeof data === "string" && typeof mime === "string") return image(data, mime);
  const { image: bytes, mimeType } = /** @type {Partial<ImageInput>} */ (value);
  if (typeof mimeType === "string" && (typeof bytes === "string" || bytes instanceof Uint8Array)) return image(bytes, mimeType);
  return undefined;
}
