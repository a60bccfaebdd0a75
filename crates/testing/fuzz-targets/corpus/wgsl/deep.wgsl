const a = 1; const b = array(a, a); const c = array(b, b);
fn f(x: ptr<function, i32>) -> i32 { return *&*x + !true_as_int() ; }
fn true_as_int() -> i32 { return select(0, ((((1)))), !!!!false); }
@compute @workgroup_size(1) fn main() { var x = c[1][0]; let y = f(&x); if x == 1 {} else if x == 2 {} else if y == 3 {} }
