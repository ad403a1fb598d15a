NAME          lp
ROWS
 N  COST
ENDATA
