/** The part of JSON Schema that tool arguments use, and the type of the values it describes. */

export type SchemaType = "string" | "number" | "integer" | "boolean" | "null" | "array" | "object";

export interface Schema {
  readonly type?: SchemaType | readonly SchemaType[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** Other keywords reach the model unchanged; the SDK does not check them. */
  readonly [keyword: string]: unknown;
}

export interface ObjectSchema extends Schema {
  readonly type: "object";
}

/** The value a schema literal describes: `Infer<{ type: "string" }>` is `string`. */
export type Infer<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly type: infer Type }
      ? Type extends readonly (infer Each)[]
        ? InferType<Each, S>
        : InferType<Type, S>
      : unknown;

type InferType<Type, S> = Type extends "string"
  ? string
  : Type extends "number" | "integer"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? S extends { readonly items: infer Items }
            ? Infer<Items>[]
            : unknown[]
          : Type extends "object"
            ? InferObject<S>
            : unknown;

type InferObject<S> = S extends { readonly properties: infer Properties }
  ? string extends keyof Properties
    ? { [name: string]: unknown }
    : Flatten<
        { -readonly [Name in keyof Properties as Name extends RequiredOf<S> ? Name : never]: Infer<Properties[Name]> } & {
          -readonly [Name in keyof Properties as Name extends RequiredOf<S> ? never : Name]?: Infer<Properties[Name]>;
        }
      >
  : { [name: string]: unknown };

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type Flatten<T> = { [Key in keyof T]: T[Key] };
