/**
 * The data converter of a team: `EMEND_DATA_CONVERTER` names a module whose default export is Temporal's `DataConverter`. Command line,
 * worker, review page and MCP server load the same one, so that they read what an encrypting codec wrote.
 */
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { fail } from '../shared/problems.js';
import { isRecord } from '../shared/text.js';
import type { Environment } from '../system/environment.js';

/**
 * Returns what the module exports; null: the environment names none. Throws ProblemError `config_invalid`. ◆ The path must be absolute: a
 * relative one would run code of whatever directory a command happens to be called in.
 */
export const configuredDataConverter = async ({
  EMEND_DATA_CONVERTER: path = '',
}: Environment): Promise<DataConverter | null> => {
  if (path === '') return null;
  if (!isAbsolute(path)) return refuse(path, 'expected an absolute path');
  const module: unknown = await import(pathToFileURL(path).href).catch((error: unknown) =>
    refuse(
      path,
      `the module cannot be loaded: ${error instanceof Error ? error.message : String(error)}`,
    ),
  );
  const converter = isRecord(module) ? module.default : undefined;
  const fault = faultOf(converter);
  return fault === null ? (converter as DataConverter) : refuse(path, fault);
};

const KEYS: readonly string[] = ['payloadConverterPath', 'failureConverterPath', 'payloadCodecs'];

/** Returns why a value is no DataConverter; null: it is one. A misspelled key would leave a namespace unencrypted. */
const faultOf = (converter: unknown): string | null => {
  if (!isRecord(converter)) return 'its default export is not an object';
  const unknownKey = Object.keys(converter).find((key) => !KEYS.includes(key));
  if (unknownKey !== undefined) return `its default export has the unknown key "${unknownKey}"`;
  const { payloadCodecs = [] } = converter;
  return Array.isArray(payloadCodecs) && payloadCodecs.every(isCodec)
    ? null
    : '`payloadCodecs` is not a list of objects with `encode` and `decode`';
};

const isCodec = (value: unknown): boolean =>
  isRecord(value) && typeof value.encode === 'function' && typeof value.decode === 'function';

const refuse = (path: string, fault: string): never =>
  fail(
    'config_invalid',
    `EMEND_DATA_CONVERTER=${path}: ${fault}.`,
    `Name a module whose default export is \`{ payloadCodecs, payloadConverterPath, failureConverterPath }\`, each optional, or unset EMEND_DATA_CONVERTER.`,
  );
