/** Eight kinds of file in which secrets stand, each with lines of its own around them. */

/** What a program keeps under a name. */
type Held = readonly (readonly [name: string, text: string])[];

const quoted = (text: string): string => JSON.stringify(text);
const each = (held: Held, line: (name: string, text: string) => string): string =>
  held.map(([name, text]) => line(name, text)).join('\n');
const lower = (name: string): string => name.toLowerCase();
const camel = (name: string): string =>
  lower(name).replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const isLong = (text: string): boolean => text.includes('\n');

export const KINDS: Readonly<Record<string, (held: Held) => string>> = {
  '.env': (held) =>
    `# Settings of the development server\nPORT=8080\n${each(held, (name, text) => `${name}=${isLong(text) ? quoted(text) : text}`)}\nDEBUG=true\n`,
  'settings.json': (held) =>
    JSON.stringify(
      { port: 8080, ...Object.fromEntries(held.map(([name, text]) => [camel(name), text])) },
      null,
      2,
    ),
  'deploy.yaml': (held) =>
    `service:\n  port: 8080\n  env:\n${each(held, (name, text) => `    ${name}: ${isLong(text) ? `|\n      ${text.replaceAll('\n', '\n      ')}` : text}`)}\n  replicas: 2\n`,
  'client.ts': (held) =>
    `import { connect } from './connect.js';\n\nexport const settings = {\n  port: 8080,\n${each(held, (name, text) => `  ${camel(name)}: ${isLong(text) ? `\`${text}\`` : `'${text}'`},`)}\n};\n\nexport const client = connect(settings);\n`,
  'client.py': (held) =>
    `import connect\n\nPORT = 8080\n${each(held, (name, text) => `${name} = ${isLong(text) ? `"""${text}"""` : quoted(text)}`)}\n\ndef client():\n    return connect.to(PORT)\n`,
  'settings.toml': (held) =>
    `[server]\nport = 8080\n\n[keys]\n${each(held, (name, text) => `${lower(name)} = ${isLong(text) ? `'''\n${text}'''` : quoted(text)}`)}\n`,
  'deploy.sh': (held) =>
    `#!/bin/sh\nset -e\n${each(held, (name, text) => `export ${name}='${text}'`)}\nexec node server.js --port 8080\n`,
  'README.md': (held) =>
    `# The server\n\nSet these before you start it:\n\n${each(held, (name, text) => `\`\`\`\n${name}=${text}\n\`\`\`\n`)}\nThen run \`npm start\`.\n`,
};
