// The declarations and the JavaScript must say the same: a difference is a type error here.
import type * as declared from "../../src/index.js";
import type * as written from "../../src/main.js";
import type * as declaredTesting from "../../src/testing.js";
import type * as writtenTesting from "../../src/host.js";

type Values<Module> = { [Name in keyof Module]: Module[Name] };
function check<_Written extends Declared, Declared>(): void {}

check<Values<typeof written>, Values<typeof declared>>();
check<keyof typeof declared, keyof typeof written>();
check<keyof typeof written, keyof typeof declared>();
check<Values<typeof writtenTesting>, Values<typeof declaredTesting>>();
check<keyof typeof writtenTesting, keyof typeof declaredTesting>();
check<keyof written.Extension, keyof declared.Extension>();
