/** A team's data converter, as EMEND_DATA_CONVERTER names it: it encrypts each payload as a whole. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const KEY = Buffer.from('0123456789abcdef0123456789abcdef');
const ENCODING = 'binary/encrypted';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const base64 = (bytes) => Buffer.from(bytes).toString('base64');

const encrypt = ({ metadata, data }) => {
  const fields = Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)]);
  const text = JSON.stringify({ metadata: Object.fromEntries(fields), data: base64(data ?? []) });
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', KEY, nonce);
  const hidden = Buffer.concat([cipher.update(text), cipher.final()]);
  return {
    metadata: { encoding: Buffer.from(ENCODING) },
    data: Buffer.concat([nonce, cipher.getAuthTag(), hidden]),
  };
};

const decrypt = (payload) => {
  if (Buffer.from(payload.metadata?.encoding ?? []).toString() !== ENCODING) return payload;
  const bytes = Buffer.from(payload.data);
  const decipher = createDecipheriv('aes-256-gcm', KEY, bytes.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const shown = Buffer.concat([
    decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)),
    decipher.final(),
  ]);
  const { metadata, data } = JSON.parse(shown.toString());
  const fields = Object.entries(metadata).map(([name, value]) => [
    name,
    Buffer.from(value, 'base64'),
  ]);
  return { metadata: Object.fromEntries(fields), data: Buffer.from(data, 'base64') };
};

export default {
  payloadCodecs: [
    {
      encode: async (payloads) => payloads.map(encrypt),
      decode: async (payloads) => payloads.map(decrypt),
    },
  ],
};
