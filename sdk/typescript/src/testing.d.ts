/** `@zot/ext/testing`: drives an extension process the way zot does, for tests of extensions. */

import type {
  ContentBlock,
  EventFields,
  EventInterceptResponseFrame,
  EventName,
  ExtensionFrame,
  CommandResponseFrame,
  HelloAckFrame,
  HelloFrame,
  HostFrame,
  InterceptName,
  NotifyFrame,
  RegisterCommandFrame,
  RegisterToolFrame,
  SubscribeFrame,
} from "./frames.js";

export interface HostOptions {
  /** The working directory of the process; defaults to that of the manifest. */
  cwd?: string;
  /** Added to the environment. */
  env?: { [name: string]: string };
  /** Defaults to a temporary directory that is removed at the end. */
  dataDir?: string;
  /** Fields of `hello_ack` to change. */
  host?: Partial<Omit<HelloAckFrame, "type">>;
  /** How long to wait for a frame; defaults to 5000. */
  timeoutMs?: number;
}

export interface ToolAnswer {
  content: ContentBlock[];
  isError: boolean;
  /** The text blocks, joined by newlines. */
  text: string;
}

export interface ExitReport {
  code: number | null;
  signal: string | null;
  /** Whether `shutdown_ack` arrived. */
  acknowledged: boolean;
  stderr: string;
}

type FieldsOf<Name extends EventName> = Omit<EventFields[Name], "event">;
type FieldArguments<Name extends EventName> = {} extends FieldsOf<Name> ? [fields?: FieldsOf<Name>] : [fields: FieldsOf<Name>];

export interface Host {
  readonly hello: HelloFrame;
  readonly commands: RegisterCommandFrame[];
  readonly tools: RegisterToolFrame[];
  /** The last `subscribe` frame. */
  readonly subscription: SubscribeFrame | undefined;
  readonly notifications: NotifyFrame[];
  /** Every frame so far, in the order of arrival. */
  readonly frames: ExtensionFrame[];
  /** Lines on standard output that are not frames; there should be none. */
  readonly strayOutput: string[];
  readonly stderr: string;
  readonly pid: number;

  invoke(name: string, args?: string): Promise<CommandResponseFrame>;
  callTool(name: string, args?: object): Promise<ToolAnswer>;
  intercept<Name extends InterceptName>(event: Name, ...fields: FieldArguments<Name>): Promise<EventInterceptResponseFrame>;
  emit<Name extends EventName>(event: Name, ...fields: FieldArguments<Name>): void;
  panelKey(panelId: string, key: string, text?: string): void;
  panelResize(panelId: string, width: number, height: number): void;
  panelClose(panelId: string): void;

  /** Returns the next frame of this type that no `waitFor` has returned yet. */
  waitFor<Type extends ExtensionFrame["type"]>(type: Type): Promise<Extract<ExtensionFrame, { type: Type }>>;

  /** Waits until standard error matches; it may arrive later than a frame sent after it. */
  waitForLog(pattern: RegExp): Promise<void>;

  send(frame: HostFrame): void;
  /** Writes raw bytes, to imitate a broken host. */
  write(bytes: string | Uint8Array): void;

  /** Sends `shutdown`, then signals as zot does: SIGTERM after two seconds, SIGKILL after one more. */
  shutdown(): Promise<ExitReport>;
  /** Closes the extension's input without `shutdown`. */
  closeInput(): Promise<ExitReport>;
  /** Sends a signal and waits for the end. */
  kill(signal?: "SIGTERM" | "SIGINT" | "SIGKILL"): Promise<ExitReport>;
}

/**
 * Starts an extension and waits until it is ready: a directory with an extension.json, a
 * JavaScript file for this Node, or a command with its arguments.
 */
export declare function startHost(extension: string | URL | readonly [string, ...string[]], options?: HostOptions): Promise<Host>;
