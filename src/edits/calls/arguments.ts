/** What the keys of a call mean, whichever tool's spelling they have, and which form of call has them (forms.ts). */
import { isJsonObject, type Json, readJson } from '../text/json.js';
import { type Argument, CALL_FORMS, type CallForm, type Meaning } from './forms.js';

/** A call as a response writes it, before anything is known of its meaning. */
export interface Call {
  /** Null: the call has no name. */
  readonly name: string | null;
  readonly args: Readonly<Record<string, Json>>;
  /** 1-based line of the response where the call begins; null: it is not known. */
  readonly line: number | null;
}

/** Keys that say something to a reader of the call, or to the program that makes it. */
const OF_NO_MEANING =
  'explanation description instruction instructions reason reasoning thought thoughts summary title complete nonce id call_id tool_use_id type status index language require_user_approval task_progress';
/** Keys of the answer itself, which need no note. */
const OF_THE_ANSWER = new Set(['complete', 'nonce', 'summary', 'reason', 'type', 'id']);
/** Keys that change the meaning of an edit if they are true. */
const CHANGES_MEANING = 'dry_run use_regex regex is_regex ignore_case case_insensitive';

export const plainKey = (key: string): string => key.toLowerCase().replace(/[_-]/g, '');
const plainSet = (words: string): ReadonlySet<string> => new Set(words.split(' ').map(plainKey));

const MEANS: ReadonlyMap<string, Argument> = new Map(
  CALL_FORMS.flatMap(({ keys }) =>
    Object.entries(keys).map(([argument, key]) => [plainKey(key), argument as Argument] as const),
  ),
);
/** Spellings of `path` that no form has, but models write. */
const OTHER_PATHS = plainSet('file relative_path file_name relpath');
const IGNORED: ReadonlySet<string> = new Set([
  ...plainSet(OF_NO_MEANING),
  ...CALL_FORMS.flatMap(({ ignored }) => ignored.map(plainKey)),
]);
const IF_FALSE = plainSet(CHANGES_MEANING);

/** Returns what a key means; null: nothing. */
export const argumentOf = (key: string): Argument | null => {
  const plain = plainKey(key);
  return MEANS.get(plain) ?? (OTHER_PATHS.has(plain) ? 'path' : null);
};

/** Is it a key that calls have, with a meaning or without? */
export const isKeyOfCalls = (key: string): boolean => {
  const plain = plainKey(key);
  return argumentOf(key) !== null || IGNORED.has(plain) || IF_FALSE.has(plain);
};

/** The arguments of a call, each with the key that it has in the response. */
export interface Arguments {
  readonly values: ReadonlyMap<Argument, { readonly key: string; readonly value: Json }>;
  readonly ignored: readonly string[];
  /** A key that means nothing, that would change the meaning, or that is there in two spellings; null: there is none. */
  readonly stranger: string | null;
}

/** Reads the keys of a call. `null` counts as absent. */
export const argumentsOf = (object: Readonly<Record<string, Json>>): Arguments => {
  const values = new Map<Argument, { key: string; value: Json }>();
  const ignored: string[] = [];
  let stranger: string | null = null;
  for (const [key, value] of Object.entries(object)) {
    if (value === null) continue;
    const argument = argumentOf(key);
    if (argument !== null && !values.has(argument)) values.set(argument, { key, value });
    else if (argument === null && isIgnored(key, value)) {
      if (!OF_THE_ANSWER.has(key)) ignored.push(key);
    } else stranger ??= key;
  }
  return { values, ignored, stranger };
};

const isIgnored = (key: string, value: Json): boolean => {
  const plain = plainKey(key);
  return IF_FALSE.has(plain) ? value === false || value === 'false' : IGNORED.has(plain);
};

/** Names of a call without the tool server before it: `functions.edit`, `mcp__fs__edit_file`. */
const plainNames = (name: string): readonly string[] =>
  [name, name.replace(/^.*(?:\.|:|__|\/)/, '')].map(plainKey);

/** Returns the forms that a name and a command have; none: they are not known. */
export const formsNamed = (name: string | null, command: Json | undefined): readonly CallForm[] => {
  const ofCommand = CALL_FORMS.filter((form) => form.command !== null && form.command === command);
  if (ofCommand.length > 0) return ofCommand;
  if (name === null) return [];
  for (const plain of plainNames(name)) {
    const named = CALL_FORMS.filter(
      (form) => form.command === null && form.names.some((own) => plainKey(own) === plain),
    );
    if (named.length > 0) return named;
  }
  return [];
};

/** What each meaning needs; of several in a list, one. */
const NEEDED: Readonly<Record<Meaning, readonly (readonly Argument[])[]>> = {
  replace: [['path'], ['old'], ['new']],
  write: [['path'], ['text']],
  create: [['path'], ['text']],
  sketch: [['path'], ['text']],
  end: [['path'], ['text']],
  insert: [['path'], ['after', 'before'], ['text', 'new']],
  delete: [['path']],
  patch: [['patch']],
  diff: [['path'], ['diff']],
  shell: [['command']],
  none: [],
  unread: [],
};
/** Arguments that a call of a meaning may have in addition. */
const MAY_HAVE: Readonly<Partial<Record<Meaning, readonly Argument[]>>> = {
  replace: ['all', 'count', 'mode'],
  write: ['mode'],
  create: ['mode'],
  end: ['mode'],
  patch: ['path'],
};

/** Returns the arguments that a meaning needs and that are not there; `outer`: the path is known already. */
export const missing = (
  meaning: Meaning,
  { values }: Arguments,
  outer: string | null,
): readonly Argument[] =>
  NEEDED[meaning].flatMap((any) => {
    const isThere = any.some((one) => values.has(one) || (one === 'path' && outer !== null));
    return isThere ? [] : any.slice(0, 1);
  });

/** Returns the key of an argument that a meaning does not have; null: there is none. */
export const besides = (meaning: Meaning, { values }: Arguments): string | null => {
  const allowed = new Set<Argument>([
    ...NEEDED[meaning].flat(),
    ...(MAY_HAVE[meaning] ?? []),
    'command',
  ]);
  const other = [...values].find(([argument]) => !allowed.has(argument));
  return other?.[1].key ?? null;
};

/** Returns the form, of several that a name has, whose keys fit a call best. */
export const bestForm = (forms: readonly CallForm[], args: Arguments): CallForm | null => {
  const score = (form: CallForm): number => {
    const own = Object.entries(form.keys);
    const spelled = own.filter(
      ([argument, key]) =>
        plainKey(args.values.get(argument as Argument)?.key ?? '') === plainKey(key),
    );
    const lacking = own.filter(
      ([argument]) =>
        NEEDED[form.meaning].flat().includes(argument as Argument) &&
        !args.values.has(argument as Argument),
    );
    return spelled.length - 10 * lacking.length;
  };
  return [...forms].sort((a, b) => score(b) - score(a))[0] ?? null;
};

/** Spellings of a text that only sketches have. */
const SKETCHED: ReadonlySet<string> = new Set(
  CALL_FORMS.flatMap(({ meaning, keys }) =>
    meaning === 'sketch' ? [plainKey(keys.text ?? '')] : [],
  ),
);

/** Returns what a call without a known name means, by its keys; null: nothing. */
export const meaningByKeys = ({ values }: Arguments): Meaning | null => {
  if (values.has('patch')) return 'patch';
  if (values.has('diff')) return 'diff';
  if (values.has('old')) return 'replace';
  if (values.has('after') || values.has('before')) return 'insert';
  if (values.has('new')) return 'replace';
  const text = values.get('text');
  if (text !== undefined) return SKETCHED.has(plainKey(text.key)) ? 'sketch' : 'write';
  return values.has('command') ? 'shell' : null;
};

/** Operations of structured-edit, which have keys of calls, too. */
const OPERATIONS = new Set(['insert', 'replace', 'delete', 'append', 'prepend']);

/** Does an object say an edit by its keys? */
const saysEdit = (object: Readonly<Record<string, Json>>, name: string | null): boolean => {
  if (typeof object.type === 'string' && OPERATIONS.has(object.type)) return false;
  const { values } = argumentsOf(object);
  const patch = values.get('patch')?.value;
  if (typeof patch === 'string') return patch.includes('*** Begin Patch');
  const command = values.get('command')?.value;
  const isKnown = formsNamed(name, command).length > 0;
  const hasItems = values.has('edits');
  if (isKnown && !hasItems && values.size > (name === null ? 1 : 0)) return true;
  if (hasItems) return itemsSay(values.get('edits')?.value ?? null, values.has('path'));
  return values.has('path') && meaningByKeys(argumentsOf(object)) !== null;
};

/** Does any of several edits say one, of its own file or of the `outer` one? */
const itemsSay = (stated: Json, outer: boolean): boolean => {
  const nested = typeof stated === 'string' ? (jsonIn(stated) ?? null) : stated;
  const items = (Array.isArray(nested) ? nested : [nested]) as readonly Json[];
  return items.some((item) => {
    const object = objectIn(item);
    if (object === null) return false;
    const args = argumentsOf(object);
    return (outer || args.values.has('path')) && meaningByKeys(args) !== null;
  });
};

/** A name and the key of what it is called with, in the envelopes of APIs. */
const NAME_KEYS = ['name', 'tool', 'tool_name', 'toolName', 'recipient_name', 'function', 'action'];
const ARGUMENT_KEYS = [
  'arguments',
  'args',
  'input',
  'parameters',
  'params',
  'tool_input',
  'toolInput',
  'action_input',
  'actionInput',
];
/** Keys of lists of calls, and of one. */
const CALL_LISTS = ['tool_calls', 'toolCalls', 'tool_uses', 'calls', 'choices', 'output', 'parts'];
const ONE_CALL = [
  'function_call',
  'functionCall',
  'function',
  'message',
  'tool_call',
  'toolCall',
  'operation',
  'content',
];
const NESTING = 6; // bound: Envelopes within each other.

/** What an object of a response holds: its calls in order, and the text next to them. */
export interface Unwrapped {
  readonly calls: readonly (Pick<Call, 'name' | 'args'> & { readonly object: Json })[];
  readonly texts: readonly string[];
}
const NOTHING: Unwrapped = { calls: [], texts: [] };

const objectIn = (value: Json | undefined): Readonly<Record<string, Json>> | null => {
  const read = typeof value === 'string' ? jsonIn(value) : value;
  return isJsonObject(read) ? read : null;
};
/** Returns the JSON that a string holds; undefined: it holds none. */
export const jsonIn = (text: string): Json | undefined => {
  const read = readJson(text);
  return read.kind === 'value' && text.slice(read.end).trim() === '' ? read.value : undefined;
};

/** Takes the calls out of the envelopes of APIs. */
export const unwrapped = (value: Json, depth = 0): Unwrapped => {
  if (depth > NESTING) return NOTHING;
  if (Array.isArray(value))
    return joined((value as readonly Json[]).map((item) => unwrapped(item, depth + 1)));
  if (!isJsonObject(value)) return NOTHING;
  return enveloped(value) ?? listed(value, depth) ?? flat(value);
};

const joined = (all: readonly Unwrapped[]): Unwrapped => ({
  calls: all.flatMap(({ calls }) => calls),
  texts: all.flatMap(({ texts }) => texts),
});

/** Reads `{ "name": …, "arguments": … }`. */
const enveloped = (value: Readonly<Record<string, Json>>): Unwrapped | null => {
  const name = NAME_KEYS.map((key) => value[key]).find(
    (candidate) => typeof candidate === 'string',
  );
  const key = ARGUMENT_KEYS.find((candidate) => (value[candidate] ?? null) !== null);
  if (typeof name !== 'string' || key === undefined) return null;
  const stated = value[key] ?? null;
  const args = objectIn(stated) ?? (typeof stated === 'string' ? { [key]: stated } : null);
  if (args === null) return null;
  return { calls: [{ name, args, object: value }], texts: [] };
};

/** Reads the lists of calls that messages of APIs have, and text next to them. */
const listed = (value: Readonly<Record<string, Json>>, depth: number): Unwrapped | null => {
  if (value.type === 'text' && typeof value.text === 'string')
    return { calls: [], texts: [value.text] };
  const inside = [...CALL_LISTS, ...ONE_CALL].flatMap((key) => {
    const nested = value[key];
    return typeof nested === 'object' && nested !== null ? [unwrapped(nested, depth + 1)] : [];
  });
  const { calls, texts } = joined(inside);
  const all = { calls: calls.filter(({ name, args }) => saysEdit(args, name)), texts };
  if (all.calls.length === 0) return null;
  const ownTexts = typeof value.content === 'string' ? [value.content] : [];
  return { calls: all.calls, texts: [...all.texts, ...ownTexts] };
};

/** Reads an object that is the arguments themselves, perhaps with the name among them. */
const flat = (value: Readonly<Record<string, Json>>): Unwrapped => {
  const key = [...NAME_KEYS, 'type'].find((candidate) => {
    const name = value[candidate];
    const isName = typeof name === 'string' && (candidate !== 'type' || name.includes('_'));
    return isName && formsNamed(name, undefined).length > 0;
  });
  if (key === undefined) return { calls: [{ name: null, args: value, object: value }], texts: [] };
  const { [key]: name, ...args } = value;
  return {
    calls: [{ name: typeof name === 'string' ? name : null, args, object: value }],
    texts: [],
  };
};

/** Does a value of JSON hold calls that edit, in whichever envelope? */
export const holdsCall = (value: Json): boolean =>
  unwrapped(value).calls.some(({ name, args }) => saysEdit(args, name));

/** Is it an edit that lacks something, so that a refusal can say what? */
export const looksLikeCall = (value: Json): boolean =>
  unwrapped(value).calls.some(({ name, args }) => {
    const { values } = argumentsOf(args);
    return (
      formsNamed(name, values.get('command')?.value).length > 0 ||
      meaningByKeys({ values, ignored: [], stranger: null }) !== null
    );
  });
