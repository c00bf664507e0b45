/** Tool results, on the wire and as authors write them. */

export interface TextBlock {
  type: "text";
  text: string;
}

export interface ImageBlock {
  type: "image";
  mime_type: string;
  /** Base64. */
  data: string;
}

export type ContentBlock = TextBlock | ImageBlock;

/** An image as authors write it: bytes, or base64 text. */
export interface ImageInput {
  image: string | Uint8Array;
  mimeType: string;
}

/** A failed call, made by `toolError`. */
export interface ToolFailure {
  readonly isError: true;
  readonly content: readonly ContentBlock[];
}

/**
 * What a tool handler returns. A string is the text, an array of blocks or images is sent block by
 * block, anything else becomes JSON text.
 */
export type ToolResult =
  | string
  | ContentBlock
  | ImageInput
  | readonly (string | ContentBlock | ImageInput)[]
  | ToolFailure
  | object
  | number
  | boolean
  | null
  | undefined
  | void;
