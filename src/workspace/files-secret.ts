/** Files that hold keys and passwords by their name: they enter no prompt unless a person names them. */

const EXAMPLE = /(^|[._-])(example|sample|template|dist|defaults?)([._-]|$)/;
const NAMES = [
  /^\.env(rc)?$/,
  /^\.env\./,
  /\.env$/,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|tfvars)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)(_sk)?$/,
  /^\.(npmrc|pypirc|netrc|pgpass|htpasswd|git-credentials|vault-token)$/,
  /^_netrc$/,
  // As data, not as code: credentials.ts is a module, credentials.json is not.
  /^(client[_-])?(credentials?|secrets?)(\.(json|ya?ml|toml|ini|cfg|conf|xml|properties|txt|csv|enc|gpg))?$/,
  /^service[_-]?account.*\.json$/,
];
const FOLDERS = [/(^|\/)\.(ssh|gnupg|aws)\//, /(^|\/)\.(docker|kube)\/config(\.json)?$/];

/** Workspace-relative path, `/`-separated. `.env.example` and public keys (`*.pub`) are not secret. */
export function looksSecret(path: string): boolean {
  const lower = path.toLowerCase();
  const name = lower.slice(lower.lastIndexOf('/') + 1);
  if (name.endsWith('.pub') || EXAMPLE.test(name)) return false;
  return NAMES.some((pattern) => pattern.test(name)) || FOLDERS.some((pattern) => pattern.test(lower));
}
