// The declarations and the JavaScript must say the same: a difference is a type error here.
import type * as declared from "../../src/index.js";
import type * as written from "../../src/main.js";

type Values<Module> = { [Name in keyof Module as Name extends "Client" | "tool" ? never : Name]: Module[Name] };
type Methods<Class> = { [Name in keyof Class]: Class[Name] };
function check<_Written extends Declared, Declared>(): void {}

check<Values<typeof written>, Values<typeof declared>>();
check<keyof typeof declared, keyof typeof written>();
check<keyof typeof written, keyof typeof declared>();
check<Methods<written.Client>, Methods<declared.Client>>();
check<keyof written.Client, keyof declared.Client>();

// Every command has a method, which is called like it.
type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name;
check<Camel<declared.Command["type"]>, keyof declared.Client>();
check<declared.Command["type"], keyof declared.ResponseData>();
