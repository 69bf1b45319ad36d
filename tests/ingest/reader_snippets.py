"""Snippets of nine languages as people write them, and the names that a search for a definition needs. Written for these tests."""

from __future__ import annotations

# One long class body, so that its members are pieces of their own.
PAD = "    // padding that makes the block long enough to be cut at its members\n" * 20

SNIPPETS: dict[str, tuple[str, list[str]]] = {
    "a.js": (
        r"""import x from "y";

export class Trainer extends Base {
  #lr = 0.1;
  static count = 0;

  constructor(model, opts = {}) {
    super();
  }

  async step(batch) {
    for (const x of batch) {
      if (x) { await go(x); }
    }
  }

  get loss() { return this._loss; }
  static create() { return new Trainer(); }
  *items() { yield 1; }
  handle = (event) => {
    this.x = event;
  };
@@PAD@@}

export default function main(argv) {
  return 0;
}
export async function* stream() {}
export const add = (a, b) => a + b;
const square = x => x * x;
module.exports.run = function (x) {};
Foo.prototype.bar = function () {
};
exports.baz = async () => {};
const api = {
  get(url) { return fetch(url); },
};
""",
        [
            "Trainer",
            "Trainer.constructor",
            "Trainer.step",
            "Trainer.loss",
            "Trainer.create",
            "Trainer.items",
            "Trainer.handle",
            "main",
            "stream",
            "add",
            "square",
            "module.exports.run",
            "Foo.prototype.bar",
            "exports.baz",
            "api",
        ],
    ),
    "a.ts": (
        r"""export interface Options<T> { lr: number; }
export type Id = string | number;
export enum Kind { A, B }
export abstract class Repo<T extends Base> implements IRepo<T> {
  private readonly items: Map<string, T> = new Map();

  constructor(private readonly db: Db) {}

  public async find(id: string): Promise<T | undefined> {
    return this.items.get(id);
  }

  protected abstract save(item: T): Promise<void>;
  static of<T>(items: T[]): Repo<T> {
    return null;
  }
@@PAD@@}
export const enum Level { Low }
declare module "foo" {
}
namespace App.Util {
}
export function isFoo(x: unknown): x is Foo {
  return true;
}
export const useThing = <T,>(x: T): T => {
  return x;
};
const handler: Handler = async (req, res) => {
};
function overload(a: string): void;
function overload(a: any) {
}
""",
        [
            "Options",
            "Id",
            "Kind",
            "Repo",
            "Repo.constructor",
            "Repo.find",
            "Repo.of",
            "Level",
            "foo",
            "App.Util",
            "isFoo",
            "useThing",
            "handler",
            "overload",
            "overload",
        ],
    ),
    "a.c": (
        r"""#include <stdio.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct node {
    int value;
} node_t;

struct point { int x, y; };

enum color { RED, GREEN };

static inline int
add(int a, int b)
{
    return a + b;
}

void *
xmalloc (size_t n)
{
}

int main(int argc, char **argv) {
    if (argc) { return 1; }
}

static const char *const names[] = {
    "a",
};

unsigned long long big(void)
{
}
""",
        ["MAX", "node", "point", "color", "add", "xmalloc", "main", "names", "big"],
    ),
    "a.cpp": (
        r"""namespace ml {

template <typename T>
class Matrix : public Base<T> {
public:
  Matrix(int n, int m);
  ~Matrix() {
  }

  T& operator()(int i, int j) {
    return data[i];
  }
  Matrix operator+(const Matrix& o) const {
    return *this;
  }
  virtual void fit(const std::vector<T>& x) override {
  }
  static Matrix identity(int n) {
    return Matrix(n, n);
  }
@@PAD@@};

template <class T>
Matrix<T>::Matrix(int n, int m)
    : n_(n), m_(m) {
}

std::vector<std::string> split(const std::string& s, char d) {
}

void Trainer::step(Batch& b) const {
}

Trainer::~Trainer() {
}

auto f(int x) -> int {
}

__global__ void kernel(float* x, int n) {
}

}  // namespace ml
""",
        [
            "ml",
            "Matrix",
            "Matrix.~Matrix",
            "Matrix.operator()",
            "Matrix.operator+",
            "Matrix.fit",
            "Matrix.identity",
            "Matrix<T>::Matrix",
            "split",
            "Trainer::step",
            "Trainer::~Trainer",
            "f",
            "kernel",
        ],
    ),
    "A.java": (
        r"""package a.b;

import java.util.*;

/** Doc. */
@Service
public final class Trainer<T extends Base> implements Runnable {
    private static final int N = 3;

    public Trainer(int a) {
        this.a = a;
    }

    @Override
    public void run() {
    }

    public static <K, V> Map<K, V> of(K k, V v) throws IOException {
        return null;
    }

    private List<Map<String, Integer>> rows(final String[] xs) {
    }

    interface Listener {
        void on(int e);
    }

    enum State { A, B }
@@PAD@@}

record Point(int x, int y) {}
@interface Marker {
}
""",
        [
            "Trainer",
            "Trainer.Trainer",
            "Trainer.run",
            "Trainer.of",
            "Trainer.rows",
            "Trainer.Listener",
            "Trainer.State",
            "Point",
            "Marker",
        ],
    ),
    "a.go": (
        r"""package main

import "fmt"

const N = 3

type Trainer struct {
	lr float64
}

type Stepper interface {
	Step(b Batch) error
}

type ID = string

// Step does one.
func (t *Trainer) Step(ctx context.Context, b Batch) (float64, error) {
	return 0, nil
}

func Map[T, U any](xs []T, f func(T) U) []U {
	return nil
}

func main() {
}

func (l List[T]) Len() int { return 0 }
""",
        ["Trainer", "Stepper", "ID", "Trainer.Step", "Map", "main", "List.Len"],
    ),
    "a.rs": (
        r"""use std::io;

/// Doc.
#[derive(Debug, Clone)]
pub struct Trainer<'a, T: Model> {
    model: &'a T,
}

impl<'a, T: Model> Trainer<'a, T> {
    pub fn new(model: &'a T) -> Self {
        Self { model }
    }

    pub async fn step(&mut self, batch: &[f32]) -> Result<f32, Error> {
        Ok(0.0)
    }

    pub(crate) const unsafe fn raw(&self) -> u8 { 0 }
@@PAD@@}

impl<T> Iterator for Loader<T> where T: Clone {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        None
    }
@@PAD@@}

pub trait Model: Send {
    fn forward(&self);
}

pub enum Kind { A }

macro_rules! my_vec {
    () => {};
}

pub(crate) fn helper<T: Into<f64>>(x: T) -> f64 {
}

mod tests {
    fn it_works() {
    }
}

pub const MAX: usize = 3;
extern "C" fn cb(x: i32) {
}
pub type Res<T> = Result<T, E>;
""",
        [
            "Trainer",
            "Trainer",
            "Trainer.new",
            "Trainer.step",
            "Trainer.raw",
            "Loader",
            "Loader.Item",
            "Loader.next",
            "Model",
            "Kind",
            "my_vec",
            "helper",
            "tests",
            "cb",
            "Res",
        ],
    ),
    "a.R": (
        r"""library(ggplot2)

#' Fit
fit_model <- function(x, y, ...) {
  lm(y ~ x)
}

print.model = function(x) {
  cat(x)
}

`%+%` <- function(a, b) paste0(a, b)

setClass("Person", representation(name = "character"))
setGeneric("area", function(shape) standardGeneric("area"))
setMethod("area", "Circle", function(shape) {
  pi
})
Account <- R6Class("Account", public = list(
  deposit = function(x) {
    self$b <- x
  }
))
sq <- \(x) x^2
""",
        ["fit_model", "print.model", "%+%", "Person", "area", "area", "Account", "sq"],
    ),
    "a.jl": (
        r'''module Train

using LinearAlgebra

"""
    step!(t, b)
"""
function step!(t::Trainer, b; lr=0.1)
    return t
end

struct Trainer{T<:Real} <: AbstractTrainer
    lr::T
end

mutable struct State
    x::Int
end

abstract type AbstractTrainer end

square(x) = x^2
Base.show(io::IO, t::Trainer) = print(io, "T")
f(x::Vector{T}) where {T} = x

macro sayhello(name)
    return :(println())
end

function Base.length(t::Trainer)
    1
end

const N = 3
end # module
''',
        [
            "Train",
            "step!",
            "Trainer",
            "State",
            "AbstractTrainer",
            "square",
            "Base.show",
            "f",
            "sayhello",
            "Base.length",
        ],
    ),
    "a.m": (
        r"""classdef Trainer < handle
    properties
        lr = 0.1
    end
    methods
        function obj = Trainer(lr)
            obj.lr = lr;
        end
        function [loss, grad] = step(obj, x)
            loss = 0;
        end
        function reset(obj)
        end
    end
    methods (Static)
        function y = make()
            y = Trainer(1);
        end
    end
@@MPAD@@end
""",
        ["Trainer", "Trainer.Trainer", "Trainer.step", "Trainer.reset", "Trainer.make"],
    ),
    "b.m": (
        r"""function [a, b] = fit(x, y)
% FIT fits
a = x;
end

function helper(x)
disp(x)
end

function y = sq(x)
y = x.^2;
end
""",
        ["fit", "helper", "sq"],
    ),
    "a.sh": (
        r"""#!/bin/bash
set -euo pipefail

# Build it
build() {
  make
}

function clean {
  rm -rf x
}

function run_all() {
  build
}
my-func () {
  echo
}
deploy()
{
  echo
}
main "$@"
""",
        ["build", "clean", "run_all", "my-func", "deploy"],
    ),
}
