fn main( { let = 1 + ; }
