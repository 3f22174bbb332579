// node build.mjs           web/dist and THIRD_PARTY.txt anew: what is compiled into the program, and whose work is in it
// node build.mjs --check   fails when they are not what the sources give
// node build.mjs --tests   bundles web/test into web/build/test for node's test runner
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
process.chdir(here);

const page = {
  entryPoints: {
    pipeline: "src/pipeline/main.ts",
    viewer: "src/app/main.tsx",
    index: "src/index.html",
  },
  loader: { ".html": "copy" },
  outdir: "dist",
  bundle: true,
  minify: true,
  charset: "ascii", // the same bytes whatever a server says about encodings
  format: "iife",
  target: ["es2020"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none", // packages differ in what they keep: noticesOf() puts the whole notice of each in front
  metafile: true,
  write: false,
};

/** The licence of a package below node_modules, as its owner wrote it. */
function noticeOf(name) {
  const folder = join("node_modules", name);
  const { version, license, homepage } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
  if (file === undefined) {
    throw new Error(`${folder}: no licence file, so it cannot be shipped`);
  }
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `${name} ${version} (${license})${homepage ? `, ${homepage}` : ""}\n\n${text}\n`;
}

/** The names of the packages whose code is in a file that was built, in order. */
function packagesOf(output) {
  const names = Object.keys(output.inputs).flatMap((input) => {
    const found = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    return found === null ? [] : [found[1]];
  });
  return [...new Set(names)].sort();
}

const asComment = (text) => `/*!\n${text.replaceAll("*/", "* /")}*/\n`;

/** What is to be written: path (from here) and text of each file. */
function outputsOf({ outputFiles, metafile }) {
  const shipped = new Set();
  const files = outputFiles.map((file) => {
    const path = relative(here, file.path);
    const names = packagesOf(metafile.outputs[path]);
    names.forEach((name) => shipped.add(name));
    const notices = names.map(noticeOf).join("\n");
    return { path, text: (names.length > 0 ? asComment(notices) : "") + file.text };
  });
  const inProgram = join("..", "packaging", "notices");
  const notices = readdirSync(inProgram).sort();
  const all = [
    ...[...shipped].sort().map(noticeOf),
    ...notices.map((name) => readFileSync(join(inProgram, name), "utf8")),
  ].join(`\n${"-".repeat(80)}\n\n`);
  files.push({
    path: join("..", "THIRD_PARTY.txt"),
    text: `Work of others in the pages that pipescope makes and serves, and in its programs. Made by ./dev web.\n\n${all}`,
  });
  return files;
}

if (process.argv.includes("--tests")) {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: tests.map((name) => join("test", name)),
    outdir: "build/test",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: ["node18"],
    logLevel: "warning",
  });
} else {
  const isCheck = process.argv.includes("--check");
  let stale = 0;
  mkdirSync("dist", { recursive: true });
  for (const { path, text } of outputsOf(await build(page))) {
    if (/\.(js|css)$/.test(path) && /<\/(script|style)/i.test(text)) {
      throw new Error(`${path}: would end the element that it is put into`);
    }
    if (!isCheck) {
      writeFileSync(path, text);
    } else if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
      console.error(`${path} is not what the sources give: run ./dev web`);
      stale++;
    }
  }
  process.exitCode = stale > 0 ? 1 : 0;
}
