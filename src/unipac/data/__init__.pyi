# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.data.catalogue import INSTANCES as INSTANCES
from unipac.data.classification import breast_cancer as breast_cancer
from unipac.data.classification import Classification as Classification
from unipac.data.classification import digits as digits
from unipac.data.files import FILES as FILES
from unipac.data.files import get as get
from unipac.data.files import read as read
from unipac.data.sepsis import icu_sepsis as icu_sepsis
from unipac.data.sepsis import ICUSepsis as ICUSepsis
from unipac.data.travel import ALTERNATIVES as ALTERNATIVES
from unipac.data.travel import swissmetro as swissmetro
from unipac.data.trial import actg175 as actg175
from unipac.data.trial import ARMS as ARMS
from unipac.data.trial import COVARIATES as COVARIATES
