/** Which grammar colours which file. Each is loaded when a file needs it; without one a file stays plain. */
import type { Parser } from '@lezer/common';

type Load = () => Promise<Parser>;

const script =
  (dialect: string): Load =>
  async () =>
    (await import('@lezer/javascript')).parser.configure({ dialect });
const html: Load = async () => (await import('@lezer/html')).parser;
const css: Load = async () => (await import('@lezer/css')).parser;
const cpp: Load = async () => (await import('@lezer/cpp')).parser;
const yaml: Load = async () => (await import('@lezer/yaml')).parser;

const BY_ENDING: Readonly<Record<string, Load>> = {
  js: script('jsx'),
  mjs: script('jsx'),
  cjs: script('jsx'),
  jsx: script('jsx'),
  ts: script('ts'),
  mts: script('ts'),
  cts: script('ts'),
  tsx: script('jsx ts'),
  json: async () => (await import('@lezer/json')).parser,
  py: async () => (await import('@lezer/python')).parser,
  rs: async () => (await import('@lezer/rust')).parser,
  go: async () => (await import('@lezer/go')).parser,
  java: async () => (await import('@lezer/java')).parser,
  c: cpp,
  h: cpp,
  cc: cpp,
  cpp,
  hpp: cpp,
  css,
  html,
  htm: html,
  vue: html,
  yaml,
  yml: yaml,
};

/** Null: no grammar for this file. */
export const grammarOf = (path: string): { readonly name: string; readonly load: Load } | null => {
  const name = /\.([A-Za-z]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  const load = Object.hasOwn(BY_ENDING, name) ? BY_ENDING[name] : undefined;
  return load === undefined ? null : { name, load };
};
